/* The kernels of wave.go and convolve.go as one writes them by hand in the dialect: what the
 * benchmark holds the compiler's text against. */

__kernel WG_SIZE(16, 16, 1)
void wave(__global float *next, __global const float *now, __global const float *before, const int rows,
          const int cols, const float c2) {
  LOCALMEM float t[18][18];
  const int top = (int)get_group_id(1) * 16 - 1, left = (int)get_group_id(0) * 16 - 1;
  for (int y = get_local_id(1); y < 18; y += 16)
    for (int x = get_local_id(0); x < 18; x += 16) {
      const int i = top + y, j = left + x;
      t[y][x] = i >= 0 && j >= 0 && i < rows && j < cols ? now[i * cols + j] : 0.0f;
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int i = get_global_id(1), j = get_global_id(0);
  if (i < rows && j < cols) {
    const int y = (int)get_local_id(1) + 1, x = (int)get_local_id(0) + 1;
    const float u = t[y][x];
    const float around = (t[y - 1][x] + t[y + 1][x]) + (t[y][x - 1] + t[y][x + 1]);
    next[i * cols + j] = fma(c2, fma(-4.0f, u, around), fma(2.0f, u, -before[i * cols + j]));
  }
}

__kernel WG_SIZE(16, 16, 1)
void convolve(__global float *out, __global const float *in, __global const float *weights, const int rows,
              const int cols) {
  LOCALMEM float t[20][20];
  LOCALMEM float w[25];
  const int l = (int)get_local_id(1) * 16 + (int)get_local_id(0);
  if (l < 25) w[l] = weights[l];
  const int top = (int)get_group_id(1) * 16 - 2, left = (int)get_group_id(0) * 16 - 2;
  for (int y = get_local_id(1); y < 20; y += 16)
    for (int x = get_local_id(0); x < 20; x += 16) {
      const int i = top + y, j = left + x;
      t[y][x] = i >= 0 && j >= 0 && i < rows && j < cols ? in[i * cols + j] : 0.0f;
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int i = get_global_id(1), j = get_global_id(0);
  if (i < rows && j < cols) {
    const int y = (int)get_local_id(1) + 4, x = (int)get_local_id(0) + 4;
    float sum = 0.0f;
    for (int p = 0; p < 5; p++)
      for (int q = 0; q < 5; q++) sum = fma(w[p * 5 + q], t[y - p][x - q], sum);
    out[i * cols + j] = sum;
  }
}
