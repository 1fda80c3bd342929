/* The nearest of m points to each of n, with its index: a reduction of pairs. */
__kernel WG_SIZE(64, 1, 1)
void nearest(const int m, __global const float2 *points, __global const float2 *from, __global int *index, __global float *dist) {
  LOCALMEM float d[64];
  LOCALMEM int which[64];
  const int l = (int)get_local_id(0), g = (int)get_group_id(0);
  float best = 3e38f;
  int at = -1;
  for (int j = l; j < m; j += 64) {
    const float dx = points[j].x - from[g].x, dy = points[j].y - from[g].y;
    const float s = dx * dx + dy * dy;
    if (s < best) {
      best = s;
      at = j;
    }
  }
  d[l] = best;
  which[l] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 32; step > 0; step /= 2) {
    if (l < step && (d[l + step] < d[l] || (d[l + step] == d[l] && which[l + step] < which[l]))) {
      d[l] = d[l + step];
      which[l] = which[l + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) {
    index[g] = which[0];
    dist[g] = sqrtf(d[0]);
  }
}
