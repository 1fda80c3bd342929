/* Dot product in float64 with one fma a step, then a tree. */
__kernel WG_SIZE(64, 1, 1)
void dot(const int n, __global const double *x, __global const double *y, __global double *out) {
  LOCALMEM double part[64];
  const int l = (int)get_local_id(0);
  double s = 0;
  for (int i = l; i < n; i += 64) s = fma(x[i], y[i], s);
  part[l] = s;
  for (int step = 32; step > 0; step >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < step) part[l] = part[l] + part[l + step];
  }
  if (l == 0) out[0] = part[0];
}
