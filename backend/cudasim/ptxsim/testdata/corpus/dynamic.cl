/* Local memory whose size the launch gives: a rotation of each block's part. */
extern __shared__ float dynamic_part[];

__kernel void dynamic(const int shift, __global float *x) {
  const int l = (int)get_local_id(0), n = (int)get_local_size(0);
  dynamic_part[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = dynamic_part[(l + shift) % n];
}
