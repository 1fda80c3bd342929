/* Kernels with one mistake each, and the same without it where FIXED is defined. The comment MISTAKE marks the line of the fault, WITH the other line of a race. */
__kernel void outofbounds(const int n, __global float *x) {
  const int i = (int)get_global_id(0);
#ifdef FIXED
  if (i >= n) return;
#else
  if (i > n) return;
#endif
  x[i] = 1.0f; /* MISTAKE outofbounds */
}

__kernel void past(const int n, __global const float *x, __global float *y) {
  const int i = (int)get_global_id(0);
#ifdef FIXED
  if (i < n - 1) y[i] = x[i + 1] - x[i];
#else
  if (i < n) y[i] = x[i + 1] - x[i]; /* MISTAKE past */
#endif
}

__kernel void race(__global int *x) {
  LOCALMEM int s[64];
  const int l = (int)get_local_id(0);
  s[l] = x[l]; /* MISTAKE race */
#ifdef FIXED
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  x[l] = s[63 - l];
}

__kernel void equalrace(__global int *x) {
  LOCALMEM int found;
  const int l = (int)get_local_id(0);
  if (l == 0) found = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#ifdef FIXED
  if (x[l] > 3) atomicExch(&found, 1);
#else
  if (x[l] > 3) found = 1; /* MISTAKE equalrace */
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  x[l] = found;
}

__kernel void misaligned(__global const float *x, const int offset, __global float4 *y) {
#ifdef FIXED
  y[0] = *(__global const float4 *)(x + 4 * offset);
#else
  y[0] = *(__global const float4 *)(x + offset); /* MISTAKE misaligned */
#endif
}

__kernel void divergent(__global int *x, const int n) {
  LOCALMEM int s[64];
  const int l = (int)get_local_id(0);
#ifdef FIXED
  s[l] = l < n ? x[l] : 0;
#else
  if (l >= n) return;
  s[l] = x[l];
#endif
  barrier(CLK_LOCAL_MEM_FENCE); /* MISTAKE divergent */
  if (l < n) x[l] = s[n - 1 - l];
}

__kernel void different(__global int *x) {
  LOCALMEM int s[64];
  const int l = (int)get_local_id(0);
  s[l] = x[l];
#ifdef FIXED
  barrier(CLK_LOCAL_MEM_FENCE);
  x[l] = s[l ^ 1] + (l & 1);
#else
  if (l & 1) {
    barrier(CLK_LOCAL_MEM_FENCE); /* MISTAKE different */
    x[l] = s[l ^ 1] + 1;
  } else {
    s[l] += 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    x[l] = s[l ^ 1];
  }
#endif
}

__kernel void uninitialised(__global int *x, const int n) {
  LOCALMEM int s[64];
  const int l = (int)get_local_id(0);
#ifdef FIXED
  s[l] = 0;
#endif
  if (l < n) s[l] = x[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[l] = s[(l + 1) % 64]; /* MISTAKE uninitialised */
}

__kernel void uninitialisedglobal(__global const int *x, __global int *y) {
#ifdef FIXED
  y[get_local_id(0)] = x[0];
#else
  y[get_local_id(0)] += x[0]; /* MISTAKE uninitialisedglobal */
#endif
}

__kernel void dividebyzero(__global int *x, const int d) {
  const int l = (int)get_local_id(0);
#ifdef FIXED
  if (d != l) x[l] = x[l] / (d - l);
#else
  x[l] = x[l] / (d - l); /* MISTAKE dividebyzero */
#endif
}

__kernel void endless(__global int *x, int n) {
  x += get_local_id(0);
#ifdef FIXED
  for (int i = n; i > 0; i--) x[0] = x[0] * 3 + 1;
#else
  for (int i = n; i != -1; i--) { /* MISTAKE endless */
    x[0] = x[0] * 3 + 1; /* MISTAKE endless */
    if (i == 0) i = n; /* MISTAKE endless */
  }
#endif
}

__kernel void sharedbounds(__global int *x) {
  LOCALMEM int s[64];
  const int l = (int)get_local_id(0);
#ifdef FIXED
  s[l] = x[l];
#else
  s[l + 1] = x[l]; /* MISTAKE sharedbounds */
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  x[l] = s[63];
}

__kernel void trapped(__global int *x) {
#ifdef FIXED
  if (x[get_local_id(0)] < 0) __trap();
#else
  if (x[get_local_id(0)] > 0) __trap(); /* MISTAKE trapped */
#endif
}

static __device__ __forceinline__ void store(__global int *p, int v) {
  *p = v;
}

__kernel void inlined(__global int *x, const int n) {
#ifdef FIXED
  store(x + n - 1, 5);
#else
  store(x + n, 5); /* MISTAKE inlined */
#endif
}

__kernel void atomicrace(__global uint *x) {
  LOCALMEM uint s[2];
  const int l = (int)get_local_id(0);
  if (l < 2) s[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomicAdd(&s[l & 1], x[l]); /* MISTAKE atomicrace */
#ifdef FIXED
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  x[l] = s[l & 1];
}

__kernel void counter(__global int *x) {
#ifdef FIXED
  atomicAdd(&x[0], 1);
#else
  x[0] += 1; /* MISTAKE counter */ /* WITH counter */
#endif
}

__kernel void reversed(__global int *x, __global int *y) {
  const int l = (int)get_local_id(0);
  x[l] = 2 * l; /* MISTAKE reversed */
#ifdef FIXED
  barrier(CLK_GLOBAL_MEM_FENCE);
#endif
  y[l] = x[63 - l]; /* WITH reversed */
}

__kernel void overwritten(__global int *x) {
  const int l = (int)get_local_id(0);
  const int v = x[63 - l]; /* MISTAKE overwritten */
#ifdef FIXED
  barrier(CLK_GLOBAL_MEM_FENCE);
#endif
  x[l] = v; /* WITH overwritten */
}

__kernel void blocks(__global int *x) {
#ifdef FIXED
  x[get_global_id(0)] = 7;
#else
  x[get_local_id(0)] = 7; /* MISTAKE blocks */ /* WITH blocks */
#endif
}

__kernel void neighbours(__global int *x, __global int *y) {
  const int i = (int)get_global_id(0);
  y[i] = x[i ^ 64]; /* MISTAKE neighbours */ /* WITH neighbours */
#ifndef FIXED
  x[i] = 0; /* MISTAKE neighbours */ /* WITH neighbours */
#endif
}

__kernel void total(__global int *x, __global int *sum) {
  const int l = (int)get_local_id(0);
#ifdef FIXED
  atomicAdd(&sum[0], x[l]);
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (l == 0) sum[1] = sum[0];
#else
  sum[0] = 0; /* MISTAKE total */ /* WITH total */
  atomicAdd(&sum[0], x[l]);
#endif
}

__kernel void lateread(__global int *sum, __global int *y) {
  const int l = (int)get_local_id(0);
  atomicAdd(&sum[0], l); /* MISTAKE lateread */
#ifdef FIXED
  barrier(CLK_GLOBAL_MEM_FENCE);
#endif
  y[l] = sum[0]; /* WITH lateread */
}

__kernel void bytes(__global uchar *x) {
  const int l = (int)get_local_id(0);
#ifdef FIXED
  x[l] = x[l] + 1;
#else
  x[l] = x[l ^ 1] + 1; /* MISTAKE bytes */ /* WITH bytes */
#endif
}

__kernel void wide(__global float4 *x, __global float *y) {
  const int l = (int)get_local_id(0);
#ifdef FIXED
  if (l < 16) x[l] = make_float4(1, 2, 3, 4);
  barrier(CLK_GLOBAL_MEM_FENCE);
#else
  if (l < 16) x[l] = make_float4(1, 2, 3, 4); /* MISTAKE wide */
#endif
  y[l] = ((__global float *)x)[63 - l]; /* WITH wide */
}

__kernel void passes(__global int *x) {
  const int l = (int)get_local_id(0);
  for (int i = 1; i < 64; i *= 2) {
    const int v = l >= i ? x[l - i] : 0; /* MISTAKE passes */
    barrier(CLK_GLOBAL_MEM_FENCE);
    x[l] += v; /* WITH passes */
#ifdef FIXED
    barrier(CLK_GLOBAL_MEM_FENCE);
#endif
  }
}

__kernel void guess(__global float *sum, __global const float *x) { /* no mistake: a sum by compare and swap */
  __global uint *to = (__global uint *)sum;
  uint old = *to, seen;
  do {
    seen = old;
    old = atomicCAS(to, seen, __float_as_uint(__uint_as_float(seen) + x[get_global_id(0)]));
  } while (old != seen);
}
