/* Atomic operations on global memory whose results matter. */
__kernel void atomics(const int n, __global const int *x, __global int *out, __global float *sum, __global uint *tickets, __global ulong *wide) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  const int v = x[i];
  atomicMax(&out[0], v);
  atomicMin(&out[1], v);
  atomicAnd((uint *)&out[2], (uint)v);
  atomicOr((uint *)&out[3], (uint)v);
  atomicXor((uint *)&out[4], (uint)v);
  atomicSub(&out[5], v);
  tickets[i] = atomicInc((uint *)&out[6], 1000u);
  atomicDec((uint *)&out[7], 50u);
  atomicExch(&out[8], v);
  atomicAdd(sum, 0.25f * (float)(v & 7));
  atomicAdd(&wide[0], (ulong)v * 1000003u);
  ulong old = wide[1], seen; /* a maximum by compare and swap */
  do {
    seen = old;
    const ulong next = (ulong)(uint)v > seen ? (ulong)(uint)v : seen;
    old = atomicCAS(&wide[1], seen, next);
  } while (old != seen);
}
