/* Five-point stencil with clamped edges. */
__kernel void stencil2d(const int w, const int h, __global const float *restrict in, __global float *restrict out) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x >= w || y >= h) return;
  const int l = x > 0 ? x - 1 : 0, r = x < w - 1 ? x + 1 : w - 1;
  const int u = y > 0 ? y - 1 : 0, d = y < h - 1 ? y + 1 : h - 1;
  const float c = in[y * w + x];
  out[y * w + x] = c + 0.2f * (in[y * w + l] + in[y * w + r] + in[u * w + x] + in[d * w + x] - 4 * c);
}
