/* Bitonic sort of 256 keys of a block in local memory. */
__kernel WG_SIZE(128, 1, 1)
void bitonic(__global uint *keys) {
  LOCALMEM uint s[256];
  const uint l = (uint)get_local_id(0);
  __global uint *mine = keys + get_group_id(0) * 256;
  s[l] = mine[l];
  s[l + 128] = mine[l + 128];
  for (uint size = 2; size <= 256; size <<= 1) {
    for (uint stride = size / 2; stride > 0; stride >>= 1) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint i = 2 * l - (l & (stride - 1)), j = i + stride;
      const uint a = s[i], b = s[j];
      if ((a > b) == ((i & size) == 0)) {
        s[i] = b;
        s[j] = a;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  mine[l] = s[l];
  mine[l + 128] = s[l + 128];
}
