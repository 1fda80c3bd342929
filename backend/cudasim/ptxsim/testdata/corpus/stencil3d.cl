/* Seven-point stencil on a grid of three dimensions; the edges are copied. */
__kernel void stencil3d(const int nx, const int ny, const int nz, __global const double *in, __global double *out) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= nz) return;
  const int i = (z * ny + y) * nx + x;
  if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
    out[i] = in[i];
    return;
  }
  const double sum = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny];
  out[i] = fma(0.1, sum - 6.0 * in[i], in[i]);
}
