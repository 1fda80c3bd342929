/* Steps to 1, with an early end. */
__kernel void collatz(const int n, __global int *steps) {
  for (int i = (int)get_global_id(0); i < n; i += (int)get_global_size(0)) {
    ulong v = (ulong)i + 1;
    int s = 0;
    for (;;) {
      if (v == 1) break;
      if (s > 500) {
        s = -1;
        break;
      }
      v = v & 1 ? 3 * v + 1 : v / 2;
      s++;
    }
    steps[i] = s;
  }
}
