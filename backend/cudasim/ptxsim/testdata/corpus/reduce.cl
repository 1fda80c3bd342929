/* Sum of a block's part of x by a tree in local memory. */
__kernel WG_SIZE(128, 1, 1)
void reduce(const int n, __global const float *x, __global float *sums) {
  LOCALMEM float part[128];
  const int l = (int)get_local_id(0);
  float s = 0;
  for (size_t i = get_global_id(0); i < (size_t)n; i += get_global_size(0)) s += x[i];
  part[l] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 64; step > 0; step /= 2) {
    if (l < step) part[l] += part[l + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) sums[get_group_id(0)] = part[0];
}
