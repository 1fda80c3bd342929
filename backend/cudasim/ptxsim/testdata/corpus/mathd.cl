/* Mathematics in float64: sqrt and divisions are exact, exp, log, sin and pow are not. */
__kernel void mathd(const int n, __global const double *x, __global double *out) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const double a = x[i];
  __global double *o = out + (size_t)i * 8;
  o[0] = sqrt(a);
  o[1] = 1.0 / a;
  o[2] = a / 3.0;
  o[3] = exp(-a);
  o[4] = log(a);
  o[5] = sin(a);
  o[6] = pow(a, 1.25);
  o[7] = floor(a) + rint(a) + trunc(a);
}
