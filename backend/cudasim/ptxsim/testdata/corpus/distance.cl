/* Edit distance of two strings of 64 bytes by anti-diagonals in local memory. */
__kernel WG_SIZE(64, 1, 1)
void distance(__global const uchar *a, __global const uchar *b, __global int *out) {
  LOCALMEM int diag[3][65];
  const int l = (int)get_local_id(0);
  __global const uchar *s = a + get_group_id(0) * 64, *t = b + get_group_id(0) * 64;
  for (int k = 0; k <= 128; k++) { /* row l+1, column k-l-1; diag holds by row */
    const int row = l + 1, col = k - row;
    if (l == 0 && k <= 64) diag[k % 3][0] = k;
    if (col == 0) diag[k % 3][row] = row;
    if (col >= 1 && col <= 64) {
      const int up = diag[(k + 2) % 3][row - 1] + 1, left = diag[(k + 2) % 3][row] + 1;
      const int both = diag[(k + 1) % 3][row - 1] + (s[row - 1] != t[col - 1]);
      diag[k % 3][row] = min(min(up, left), both);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 63) out[get_group_id(0)] = diag[128 % 3][64];
}
