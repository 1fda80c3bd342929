/* Histogram of bytes: counts of a block in local memory, then added to the total. */
__kernel WG_SIZE(64, 1, 1)
void histogram(const int n, __global const uchar *data, __global uint *counts) {
  LOCALMEM uint part[256];
  for (int i = (int)get_local_id(0); i < 256; i += 64) part[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = (int)get_global_id(0); i < n; i += (int)get_global_size(0)) atomicAdd(&part[data[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = (int)get_local_id(0); i < 256; i += 64)
    if (part[i]) atomicAdd(&counts[i], part[i]);
}
