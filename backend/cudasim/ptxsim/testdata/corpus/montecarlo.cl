/* Points in the unit circle, from a generator of 64 bits. */
__kernel void montecarlo(const int rounds, const ulong seed, __global uint *hits) {
  ulong s = seed + get_global_id(0) * 0x9e3779b97f4a7c15ULL;
  uint n = 0;
  for (int i = 0; i < rounds; i++) {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    const float x = (float)(uint)(s >> 40) * 0x1p-24f, y = (float)(uint)(s & 0xffffff) * 0x1p-24f;
    if (x * x + y * y < 1.0f) n++;
  }
  hits[get_global_id(0)] = n;
}
