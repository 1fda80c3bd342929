/* Steps until a point escapes. */
__kernel void mandelbrot(const int w, const int h, const int limit, __global ushort *steps) {
  const int px = (int)get_global_id(0), py = (int)get_global_id(1);
  if (px >= w || py >= h) return;
  const double cx = -2.0 + 3.0 * px / w, cy = -1.0 + 2.0 * py / h;
  double x = 0, y = 0;
  int i = 0;
  while (1) {
    if (i == limit) break;
    const double x2 = x * x, y2 = y * y;
    if (x2 + y2 > 4.0) break;
    y = 2 * x * y + cy;
    x = x2 - y2 + cx;
    i++;
  }
  steps[py * w + px] = (ushort)i;
}
