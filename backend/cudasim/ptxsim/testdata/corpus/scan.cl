/* Inclusive scan of a block (Hillis and Steele), and the second pass that adds the totals of the blocks before. */
__kernel WG_SIZE(128, 1, 1)
void scan(const int n, __global int *x, __global int *totals) {
  LOCALMEM int buf[2][128];
  const int l = (int)get_local_id(0), i = (int)get_global_id(0);
  int cur = 0;
  buf[0][l] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < 128; step *= 2) {
    buf[1 - cur][l] = l >= step ? buf[cur][l] + buf[cur][l - step] : buf[cur][l];
    cur = 1 - cur;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) x[i] = buf[cur][l];
  if (l == 127) totals[get_group_id(0)] = buf[cur][l];
}

__kernel void scan_add(const int n, __global int *x, __global const int *totals) {
  const int i = (int)get_global_id(0);
  int sum = 0;
  for (int b = 0; b < (int)get_group_id(0); b++) sum += totals[b];
  if (i < n) x[i] += sum;
}
