/* Mathematics in float32. The first three are exact. */
__kernel void mathf(const int n, __global const float *x, __global float *out) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const float a = x[i];
  __global float *o = out + (size_t)i * 10;
  o[0] = sqrtf(a);
  o[1] = 1.0f / a;
  o[2] = a / 3.0f;
  o[3] = expf(-a);
  o[4] = logf(a);
  o[5] = sinf(a);
  o[6] = cosf(a * 100000.0f);
  o[7] = powf(a, 1.25f);
  o[8] = rsqrtf(a);
  o[9] = tanhf(a) + exp2f(-a) + log2f(a);
}
