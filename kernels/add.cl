/* add - z = x + y, element by element, for matrices of rows by cols:
 *
 *   z[zoff + i*ldz + j] = x[xoff + i*ldx + j] + y[yoff + i*ldy + j]
 *
 * z may be x or y itself, with the same offset and leading dimension.
 *
 * BLOCK  elements of a row that a group takes at a time
 *
 * Launch: any grid in x and y covers any shape. Groups in x stride over the blocks of a row, their
 * work-items over the elements of a block, so that a GPU's neighbours access neighbouring elements
 * and a CPU's single work-item walks through memory. Work-items in y stride over the rows; packed
 * matrices are best passed as one row.
 */
__kernel void add(const ulong rows, const ulong cols,
                  __global const T *x, const ulong xoff, const ulong ldx,
                  __global const T *y, const ulong yoff, const ulong ldy,
                  __global T *z, const ulong zoff, const ulong ldz) {
  for (ulong i = get_global_id(1); i < rows; i += get_global_size(1)) {
    __global const T *xi = x + xoff + i * ldx;
    __global const T *yi = y + yoff + i * ldy;
    __global T *zi = z + zoff + i * ldz;
    for (ulong begin = get_group_id(0) * (ulong)BLOCK; begin < cols; begin += get_num_groups(0) * (ulong)BLOCK) {
      const ulong end = begin + BLOCK < cols ? begin + BLOCK : cols;
      for (ulong j = begin + get_local_id(0); j < end; j += get_local_size(0)) zi[j] = xi[j] + yi[j];
    }
  }
}
