/* Softmax of each row: one block a row. */
__kernel WG_SIZE(64, 1, 1)
void softmax(const int cols, __global const float *x, __global float *y) {
  LOCALMEM float part[64];
  const int l = (int)get_local_id(0);
  __global const float *row = x + get_group_id(0) * cols;
  float m = -3.0e38f;
  for (int j = l; j < cols; j += 64) m = fmaxf(m, row[j]);
  part[l] = m;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 32; step > 0; step /= 2) {
    if (l < step) part[l] = fmaxf(part[l], part[l + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  m = part[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int j = l; j < cols; j += 64) s += expf(row[j] - m);
  part[l] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 32; step > 0; step /= 2) {
    if (l < step) part[l] += part[l + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int j = l; j < cols; j += 64) y[get_group_id(0) * cols + j] = expf(row[j] - m) / part[0];
}
