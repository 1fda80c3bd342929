/* Arithmetic of 8 and 16 bits. */
__kernel void small(const int n, __global const char *x, __global const short *y, __global short *out, __global uchar *bytes) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const signed char a = (signed char)x[i];
  const short b = y[i];
  __global short *o = out + (size_t)i * 6;
  o[0] = (short)(a * b);
  o[1] = (short)(b / (a ? a : 1));
  o[2] = (short)((ushort)b % 77);
  o[3] = (short)(b >> 3);
  o[4] = (short)(b > a ? b - a : a);
  o[5] = (short)((b * 3 + a) ^ ~b);
  const int sum = a + b;
  bytes[i] = (uchar)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}
