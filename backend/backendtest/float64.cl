/* The kernels of the suite that need double, apart from the others because some devices have none.
 *
 * ops_f64   out[5*i ...] = fma(a, b, c), a*b + c, a*b, a + c, b - c with a, b, c = in[3*i ...]
 * doubles   out = x, y
 */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

__kernel void ops_f64(__global double *out, __global const double *in, const int n) {
  for (size_t i = get_global_id(0); i < (size_t)n; i += get_global_size(0)) {
    double a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    out[5 * i] = fma(a, b, c);
    out[5 * i + 1] = a * b + c;
    out[5 * i + 2] = a * b;
    out[5 * i + 3] = a + c;
    out[5 * i + 4] = b - c;
  }
}

__kernel void doubles(__global double *out, const double x, const int between, const double y) {
  if (get_global_id(0) != 0 || between != 7) return;
  out[0] = x;
  out[1] = y;
}
