/* A polynomial with its coefficients in constant memory; the form depends on a macro. */
CONSTMEM double coefficients[8] = {1.0, -0.5, 0.25, -0.125, 3.5, 1e-3, -7.0, 0.0625};

__kernel void horner(const int n, __global const double *x, __global double *y) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  double s = 0;
#pragma unroll
  for (int k = 7; k >= 0; k--) s = fma(s, x[i], coefficients[k]);
  double t = 0;
  for (int k = (i & 7); k >= 0; k--) t = t * x[i] + coefficients[k];
  y[2 * i] = s;
  y[2 * i + 1] = t;
}
