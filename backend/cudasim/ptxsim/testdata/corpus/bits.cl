/* Bit tricks. */
static __device__ uint spread(uint x) {
  x &= 0xffff;
  x = (x | x << 8) & 0x00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f;
  x = (x | x << 2) & 0x33333333;
  return (x | x << 1) & 0x55555555;
}

__kernel void bits(const int n, __global const uint *x, __global uint *out) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const uint a = x[i], b = x[(i + 1) % n];
  __global uint *o = out + (size_t)i * 10;
  o[0] = (uint)__popc(a) + 64 * (uint)__clz((int)a) + 4096 * (uint)__ffs((int)a);
  o[1] = __brev(a);
  o[2] = spread(a) | spread(b) << 1;
  o[3] = a << 7 | a >> 25;
  o[4] = __byte_perm(a, b, 0x4701);
  o[5] = (uint)__popcll((ulong)a << 32 | b) + 256 * (uint)__clzll((long long)a);
  o[6] = __funnelshift_l(a, b, i);
  o[7] = (a & b) ^ (~a & (uint)i);
  o[8] = a >> 5 & 0x7f;
  o[9] = (uint)((int)(a << 11) >> 20) + __usad(a, b, 3u);
}
