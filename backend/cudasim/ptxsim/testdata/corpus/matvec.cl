/* y = A*x with rows of vectors of four; one block a row. */
__kernel WG_SIZE(32, 1, 1)
void matvec(const int vectors, __global const float4 *restrict a, __global const float4 *restrict x, __global float *restrict y) {
  LOCALMEM float part[32];
  const int l = (int)get_local_id(0);
  const size_t row = get_group_id(0);
  float s = 0;
  for (int j = l; j < vectors; j += 32) {
    const float4 p = a[row * vectors + j], q = x[j];
    s = fma(p.w, q.w, fma(p.z, q.z, fma(p.y, q.y, fma(p.x, q.x, s))));
  }
  part[l] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    float t = 0;
    for (int j = 0; j < 32; j++) t += part[j];
    y[row] = t;
  }
}
