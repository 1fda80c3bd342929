/* Arithmetic of 64 bits. */
__kernel void int64(const int n, __global const ulong *x, __global const ulong *y, __global ulong *out) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const ulong a = x[i], b = y[i];
  const long long sa = (long long)a, sb = (long long)b;
  __global ulong *o = out + (size_t)i * 16;
  o[0] = a * b;
  o[1] = a / b;
  o[2] = a % b;
  o[3] = (ulong)(sa / sb);
  o[4] = (ulong)(sa % sb);
  o[5] = __umul64hi(a, b);
  o[6] = (ulong)__mul64hi(sa, sb);
  o[7] = a << (b & 63) | a >> (64 - (b & 63) & 63);
  o[8] = (ulong)(sa >> (b & 63));
  o[9] = a > b ? a - b : b - a;
  o[10] = (ulong)(sa < sb ? sa : sb);
  o[11] = (ulong)(uint)a * (uint)b;
  o[12] = (ulong)((long long)(int)a * (int)b);
  o[13] = a / 10 + b % 1000;
  o[14] = (ulong)(sa / 7 - sb % 12);
  o[15] = a ^ ~b & 0x0123456789abcdefULL;
}
