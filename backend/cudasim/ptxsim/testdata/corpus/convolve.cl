/* Convolution with a mask in constant memory that the host sets, and a tile with its rim in local memory. */
CONSTMEM float mask[25];

__kernel WG_SIZE(8, 8, 1)
void convolve(const int w, const int h, __global const float *in, __global float *out) {
  LOCALMEM float tile[12][12];
  const int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
  const int x0 = (int)get_group_id(0) * 8 - 2, y0 = (int)get_group_id(1) * 8 - 2;
  for (int j = ly; j < 12; j += 8)
    for (int i = lx; i < 12; i += 8) {
      const int x = x0 + i, y = y0 + j;
      tile[j][i] = x >= 0 && x < w && y >= 0 && y < h ? in[y * w + x] : 0.0f;
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int x = x0 + 2 + lx, y = y0 + 2 + ly;
  if (x >= w || y >= h) return;
  float s = 0;
  for (int j = 0; j < 5; j++)
    for (int i = 0; i < 5; i++) s += mask[5 * j + i] * tile[ly + j][lx + i];
  out[y * w + x] = s;
}
