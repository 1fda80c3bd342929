/* Warp-level functions of CUDA: not in the portable dialect, but simulated. */
__kernel WG_SIZE(64, 1, 1)
void warp(__global const int *x, __global int *out) {
  const int i = (int)get_global_id(0);
  const int v = x[i];
  int sum = v;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const uint odd = __ballot_sync(0xffffffffu, v & 1);
  const int before = __shfl_up_sync(0xffffffffu, v, 1);
  const int count = __syncthreads_count(v > 50);
  out[5 * i] = sum;
  out[5 * i + 1] = (int)odd;
  out[5 * i + 2] = before;
  out[5 * i + 3] = count;
  out[5 * i + 4] = __all_sync(0xffffffffu, v >= 0) + 2 * __any_sync(0xffffffffu, v == 7);
}
