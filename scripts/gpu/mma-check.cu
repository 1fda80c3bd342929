// mma-check - is the float64 matrix instruction of NVIDIA's GPUs the sequential chain acc =
// fma(a[k], b[k], acc), k ascending, bit for bit?
//
//   nvcc -O2 -arch=native -o mma-check mma-check.cu && ./mma-check
//
// Only then could kernels use it. A warp computes one product with mma.sync, 64 values deep; the
// host computes the same chain with fma(), and every bit of every element is compared, NaN apart.
// Small integers come first, where every order of sums gives the same bits: they check that the
// program hands the instruction the right elements.
//
// The last line of each instruction begins with YES or NO. The exit code is 0 for either, 1 where
// the question could not be answered.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t e = (call);                                                           \
    if (e != cudaSuccess) {                                                           \
      fprintf(stderr, "mma-check: %s: %s\n", #call, cudaGetErrorString(e));           \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

constexpr int DEPTH = 64, PROBLEMS = 4096;

// An instruction multiplies M by K and K by 8 elements. Of these a work-item holds AN, BN and CN.
struct K4 {
  static constexpr int M = 8, K = 4, AN = 1, BN = 1, CN = 2, ARCH = 80;
  static constexpr const char *NAME = "m8n8k4";
  __device__ static void multiply(double *c, const double *a, const double *b) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};\n"
                 : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
#endif
  }
};
struct K16 {
  static constexpr int M = 16, K = 16, AN = 8, BN = 4, CN = 4, ARCH = 90;
  static constexpr const char *NAME = "m16n8k16";
  __device__ static void multiply(double *c, const double *a, const double *b) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};\n"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
  }
};

// One warp a problem: C (M by 8) += A (M by DEPTH) * B (DEPTH by 8), all row-major.
template <class I>
__global__ void product(const double *a, const double *b, double *c) {
  const int group = threadIdx.x / 4, in = threadIdx.x % 4;
  a += (size_t)blockIdx.x * I::M * DEPTH;
  b += (size_t)blockIdx.x * DEPTH * 8;
  c += (size_t)blockIdx.x * I::M * 8;
  double cr[I::CN];
  for (int i = 0; i < I::CN; i++) cr[i] = c[(group + i / 2 * 8) * 8 + in * 2 + i % 2];
  for (int k = 0; k < DEPTH; k += I::K) {
    double ar[I::AN], br[I::BN];
    for (int i = 0; i < I::AN; i++) ar[i] = a[(group + i % 2 * 8) * DEPTH + k + i / 2 * 4 + in];
    for (int i = 0; i < I::BN; i++) br[i] = b[(k + i * 4 + in) * 8 + group];
    I::multiply(cr, ar, br);
  }
  for (int i = 0; i < I::CN; i++) c[(group + i / 2 * 8) * 8 + in * 2 + i % 2] = cr[i];
}

// A kind of values. Each sees one thing that another order, another rounding or a wider accumulator
// would change.
enum Kind { INTEGERS, UNIFORM, EXPONENTS, CANCELLING, TINY, SPECIAL, KINDS };
const char *const kinds[KINDS] = {"small integers", "uniform",      "many exponents",
                                  "cancelling",     "underflowing", "special"};

std::mt19937_64 rng(1);

double uniform() { return 2 * ((double)(rng() >> 11) * 0x1p-53) - 1; }

double value(Kind kind) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1.fffffffffffffp1023, -0x1p-1074, 0x1p-1022};
  switch (kind) {
    case INTEGERS: return (double)(int)(rng() % 17) - 8;
    case EXPONENTS: return ldexp(uniform(), (int)(rng() % 81) - 40);
    case TINY: return ldexp(uniform(), -530);
    case SPECIAL: return rng() % 512 == 0 ? special[rng() % 8] : rng() % 8 == 0 ? special[rng() % 2] : uniform();
    default: return uniform();
  }
}

// fill makes A, B and C. Cancelling values are so in pairs along k: each product is nearly minus
// the one before.
void fill(Kind kind, int m, std::vector<double> &a, std::vector<double> &b, std::vector<double> &c) {
  for (double &x : a) x = value(kind);
  for (double &x : b) x = value(kind);
  for (double &x : c) x = kind == TINY ? ldexp(uniform(), -1060) : value(kind);
  if (kind != CANCELLING) return;
  for (size_t p = 0; p < PROBLEMS; p++)
    for (int k = 1; k < DEPTH; k += 2) {
      for (int i = 0; i < m; i++) {
        double *x = &a[(p * m + i) * DEPTH + k];
        x[0] = x[-1] * (1 + ldexp(uniform(), -(int)(rng() % 52)));
      }
      for (int j = 0; j < 8; j++) b[(p * DEPTH + k) * 8 + j] = -b[(p * DEPTH + k - 1) * 8 + j];
    }
}

bool same(double x, double y) { return (x != x && y != y) || memcmp(&x, &y, sizeof x) == 0; }

// differing counts the elements of the device's result that are not those of the chain, which
// starts from c.
long differing(int m, const std::vector<double> &a, const std::vector<double> &b, const std::vector<double> &c,
               const std::vector<double> &got) {
  long n = 0;
  for (size_t p = 0; p < PROBLEMS; p++)
    for (int i = 0; i < m; i++)
      for (int j = 0; j < 8; j++) {
        double acc = c[(p * m + i) * 8 + j];
        for (int k = 0; k < DEPTH; k++) acc = fma(a[(p * m + i) * DEPTH + k], b[(p * DEPTH + k) * 8 + j], acc);
        const double x = got[(p * m + i) * 8 + j];
        if (same(acc, x)) continue;
        if (n++ == 0) printf("  first: problem %zu, element (%d, %d) is %a, the chain gives %a\n", p, i, j, x, acc);
      }
  return n;
}

double *upload(const std::vector<double> &x) {
  double *p;
  CHECK(cudaMalloc(&p, x.size() * sizeof(double)));
  CHECK(cudaMemcpy(p, x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice));
  return p;
}

template <class I>
void ask(const cudaDeviceProp &gpu) {
  const int arch = 10 * gpu.major + gpu.minor;
  if (arch < I::ARCH) {
    printf("%s needs sm_%d\n", I::NAME, I::ARCH);
    return;
  }
  const long elements = (long)PROBLEMS * I::M * 8;
  std::vector<double> a((size_t)PROBLEMS * I::M * DEPTH), b((size_t)PROBLEMS * DEPTH * 8), c(elements), got(elements);
  long total = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    fill((Kind)kind, I::M, a, b, c);
    double *da = upload(a), *db = upload(b), *dc = upload(c);
    product<I><<<PROBLEMS, 32>>>(da, db, dc);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), dc, elements * sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
    const long n = differing(I::M, a, b, c, got);
    printf("%s, %s: %ld of %ld elements differ\n", I::NAME, kinds[kind], n, elements);
    if (kind == INTEGERS && n != 0) {
      fprintf(stderr, "mma-check: %s: exact sums are wrong: the program hands it other elements than it means to\n",
              I::NAME);
      exit(1);
    }
    total += n;
  }
  printf("%s: float64 mma.sync %s on %s (sm_%d) %s the sequential chain: %ld of %ld elements differ\n",
         total == 0 ? "YES" : "NO", I::NAME, gpu.name, arch, total == 0 ? "is" : "is not", total, elements * KINDS);
}

int main() {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  ask<K4>(gpu);
  ask<K16>(gpu);
  return 0;
}
