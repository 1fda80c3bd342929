/* Conversions between numbers. */
__kernel void convert(const int n, __global const double *x, __global int *ints, __global ulong *longs, __global float *floats,
                      __global double *doubles) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const double a = x[i];
  const float f = (float)a;
  __global int *o = ints + (size_t)i * 10;
  o[0] = (int)f;
  o[1] = __float2int_rn(f);
  o[2] = __float2int_rd(f);
  o[3] = __float2int_ru(f);
  o[4] = (int)(uint)f;
  o[5] = (int)a;
  o[6] = (int)(signed char)(int)a;
  o[7] = (int)(uchar)(int)a;
  o[8] = (int)(short)(int)a;
  o[9] = __double2int_rn(a);
  longs[2 * i] = (ulong)(long long)a;
  longs[2 * i + 1] = (ulong)f;
  floats[4 * i] = f;
  floats[4 * i + 1] = (float)(int)a;
  floats[4 * i + 2] = (float)(long long)(a * 1e6);
  floats[4 * i + 3] = (float)(ulong)(a * a * 1e12);
  doubles[2 * i] = (double)f * 0.1f;
  doubles[2 * i + 1] = (double)(long long)(a * 1e15);
}
