/* Median of the 3 by 3 neighbours, sorted in a private array. */
__kernel void median(const int w, const int h, __global const ushort *in, __global ushort *out) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x >= w || y >= h) return;
  ushort v[9];
  int n = 0;
  for (int j = -1; j <= 1; j++) {
    for (int i = -1; i <= 1; i++) {
      if (x + i < 0 || x + i >= w || y + j < 0 || y + j >= h) continue;
      const ushort a = in[(y + j) * w + x + i];
      int k = n++;
      for (; k > 0 && v[k - 1] > a; k--) v[k] = v[k - 1];
      v[k] = a;
    }
  }
  out[y * w + x] = v[n / 2];
}
