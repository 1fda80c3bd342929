/* The block that finishes last adds up what the others left: a ticket and a memory fence. */
__kernel WG_SIZE(32, 1, 1)
void lastblock(const int n, __global const uint *x, __global uint *part, __global uint *ticket, __global uint *total) {
  LOCALMEM uint s[32];
  LOCALMEM int last;
  const int l = (int)get_local_id(0);
  uint v = 0;
  for (int i = (int)get_global_id(0); i < n; i += (int)get_global_size(0)) v += x[i];
  s[l] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    for (int j = 1; j < 32; j++) v += s[j];
    part[get_group_id(0)] = v;
    __threadfence();
    last = atomicAdd(ticket, 1u) == (uint)get_num_groups(0) - 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (last && l == 0) {
    uint t = 0;
    for (int j = 0; j < (int)get_num_groups(0); j++) t += ((volatile uint *)part)[j];
    *total = t;
  }
}
