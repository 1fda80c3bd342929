/* Functions that are called: one of them calls itself. */
static __device__ __noinline__ uint gcd_of(uint a, uint b) {
  while (b) {
    const uint t = a % b;
    a = b;
    b = t;
  }
  return a;
}

static __device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

typedef struct { double a, b; } pair_of;

static __device__ __noinline__ pair_of swap_of(pair_of p, double scale) {
  pair_of q;
  q.a = p.b * scale;
  q.b = p.a;
  return q;
}

__kernel void gcd(const int n, __global const uint *x, __global const uint *y, __global uint *out, __global double *pairs) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  out[i] = gcd_of(x[i], y[i]) + 1000000u * (uint)ackermann(i % 3, i % 4);
  pair_of p;
  p.a = x[i];
  p.b = y[i];
  p = swap_of(p, 0.5);
  pairs[2 * i] = p.a;
  pairs[2 * i + 1] = p.b;
}
