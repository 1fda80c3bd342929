// The kernels of this folder, and two of examples/seeds, as one writes them in C: plain loops, on
// two threads. Each line of input, "NAME RUNS", is answered by the median time of a run in
// nanoseconds, and the sum of what the first run has made: that of the kernel in Go.

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// both runs f on two threads, of which the second waits for work without sleeping.
static void (*work)(int part);
static atomic_int turn, done;

static void *second(void *arg) {
  for (int seen = 0;;) {
    while (turn == seen) __builtin_ia32_pause();
    seen = turn;
    if (!work) return arg;
    work(1);
    done = seen;
  }
}

static void both(void (*f)(int part)) {
  work = f;
  const int now = ++turn;
  f(0);
  while (done != now) __builtin_ia32_pause();
}

// PART is the part of n that a thread has.
#define PART(n) const long lo = (long)(n) / 2 * part, hi = part ? (n) : (long)(n) / 2
#define EACH(i, n) for (long i = 0; i < (n); i++)
#define MINE(i) for (long i = lo; i < hi; i++)

// number k of the data, and the same from 0 to 1.
static uint32_t number(uint32_t k) {
  k *= 2654435761u;
  return k ^ k >> 16;
}
static float unit(uint32_t k) { return (number(k) & 0xffff) / 65536.0f; }

enum { many = 1 << 22 };
static float x[many];

static void fill_x(void) { EACH(i, many) x[i] = unit(i); }
static double sum_x(void) {
  double s = 0;
  EACH(i, many) s += x[i];
  return s;
}

static void double_part(int part) {
  PART(many);
  MINE(i) x[i] *= 2;
}
static void run_double(void) { both(double_part); }

static float sums[2];
static void sum_part(int part) {
  PART(many);
  float s = 0;
  MINE(i) s += x[i];
  sums[part] = s;
}
static void run_sum(void) { both(sum_part); }
static double sum_sum(void) { return sums[0] + sums[1]; }

enum { bodies = 4096 };
typedef struct { float x, y, z; } vec;
typedef struct { vec at; float mass; } body;
static body now[bodies], next[bodies];
static vec velocity[bodies];

static void fill_nbody(void) {
  EACH(i, bodies) now[i] = (body){{unit(4 * i), unit(4 * i + 1), unit(4 * i + 2)}, unit(4 * i + 3)};
  memset(velocity, 0, sizeof velocity);
}
static void nbody_part(int part) {
  const float dt = 0.01f, softening = 0.01f;
  PART(bodies);
  MINE(i) {
    const vec me = now[i].at;
    vec pull = {0, 0, 0};
    EACH(j, bodies) {
      const vec d = {now[j].at.x - me.x, now[j].at.y - me.y, now[j].at.z - me.z};
      const float r2 = fmaf(d.x, d.x, fmaf(d.y, d.y, d.z * d.z)) + softening;
      const float s = now[j].mass / (r2 * sqrtf(r2));
      pull.x = fmaf(s, d.x, pull.x);
      pull.y = fmaf(s, d.y, pull.y);
      pull.z = fmaf(s, d.z, pull.z);
    }
    vec *const v = &velocity[i];
    *v = (vec){fmaf(dt, pull.x, v->x), fmaf(dt, pull.y, v->y), fmaf(dt, pull.z, v->z)};
    next[i] = (body){{fmaf(dt, v->x, me.x), fmaf(dt, v->y, me.y), fmaf(dt, v->z, me.z)}, now[i].mass};
  }
}
static void run_nbody(void) { both(nbody_part); }
static double sum_nbody(void) {
  double s = 0;
  EACH(i, bodies) s += next[i].at.x;
  return s;
}

enum { options = 1 << 18 };
typedef struct { float price, strike, years; } option;
static option shares[options];
static float calls[options], puts_[options];

static void fill_options(void) {
  EACH(i, options) shares[i] = (option){50 + 100 * unit(3 * i), 50 + 100 * unit(3 * i + 1), 1 + unit(3 * i + 2)};
}
static inline float normal(float x) {
  const float a = fabsf(x), t = 1 / fmaf(0.2316419f, a, 1);
  float p = fmaf(t, 1.330274429f, -1.821255978f);
  p = fmaf(t, p, 1.781477937f);
  p = fmaf(t, p, -0.356563782f);
  p = fmaf(t, p, 0.319381530f);
  const float tail = 0.3989422804f * expf(-a * a / 2) * (t * p);
  return x < 0 ? tail : 1 - tail;
}
static void options_part(int part) {
  const float rate = 0.05f, volatility = 0.2f;
  PART(options);
  MINE(i) {
    const option o = shares[i];
    const float spread = volatility * sqrtf(o.years), drift = fmaf(volatility, volatility / 2, rate);
    const float d1 = fmaf(drift, o.years, logf(o.price / o.strike)) / spread, d2 = d1 - spread;
    const float later = o.strike * expf(-rate * o.years);
    calls[i] = fmaf(o.price, normal(d1), -(later * normal(d2)));
    puts_[i] = fmaf(later, normal(-d2), -(o.price * normal(-d1)));
  }
}
static void run_options(void) { both(options_part); }
static double sum_options(void) {
  double s = 0;
  EACH(i, options) s += calls[i];
  return s;
}

enum { width = 900, height = 600 };
static uint8_t pixels[height][width];

static void mandelbrot_part(int part) {
  const double step = 3.0 / width, x0 = -2.25, y0 = -step * height / 2;
  const int limit = 100;
  // Rows by turns, since those in the middle take longer.
  for (long row = part; row < height; row += 2) {
    EACH(col, width) {
      const double cx = x0 + col * step, cy = y0 + row * step;
      double x = 0, y = 0;
      int turns = 0;
      for (; turns < limit; turns++) {
        const double x2 = x * x, y2 = y * y;
        if (x2 + y2 > 4) break;
        y = 2 * x * y + cy;
        x = x2 - y2 + cx;
      }
      pixels[row][col] = turns < limit ? 255 * (turns + 1) / limit : 0;
    }
  }
}
static void run_mandelbrot(void) { both(mandelbrot_part); }
static double sum_mandelbrot(void) {
  double s = 0;
  EACH(i, height * width) s += ((uint8_t *)pixels)[i];
  return s;
}

static uint8_t bytes[many];
static uint32_t counts[2][256];

static void fill_bytes(void) { EACH(i, many) bytes[i] = number(i) % 200; }
static void histogram_part(int part) {
  PART(many);
  uint32_t *const c = counts[part];
  memset(c, 0, sizeof counts[part]);
  MINE(i) c[bytes[i]]++;
}
static void run_histogram(void) {
  both(histogram_part);
  EACH(i, 256) counts[0][i] += counts[1][i];
}
static double sum_histogram(void) {
  double s = 0;
  EACH(i, 256) s += (double)i * counts[0][i];
  return s;
}

enum { size = 512 };
static float a[size][size], b[size][size], c[size][size];

static void fill_product(void) {
  EACH(i, size) EACH(j, size) a[i][j] = unit(i * size + j) - 0.5f, b[i][j] = unit(j * size + i) - 0.5f;
}
static void naive_part(int part) {
  PART(size);
  MINE(i) EACH(j, size) {
    float s = 0;
    EACH(k, size) s += a[i][k] * b[k][j];
    c[i][j] = s;
  }
}
static void run_naive(void) { both(naive_part); }
static void product_part(int part) { // by rows of b, so that compilers make vectors of it
  PART(size);
  MINE(i) {
    memset(c[i], 0, sizeof c[i]);
    EACH(k, size) EACH(j, size) c[i][j] = fmaf(a[i][k], b[k][j], c[i][j]);
  }
}
static void run_product(void) { both(product_part); }
static double sum_product(void) {
  double s = 0;
  EACH(i, size) EACH(j, size) s += fabsf(c[i][j]);
  return s;
}

enum { pond = 1504 };
static float before[pond][pond], still[pond][pond], moved[pond][pond];

static void fill_pond(void) {
  EACH(i, pond) EACH(j, pond) before[i][j] = unit(i * pond + j), still[i][j] = unit(i * pond + j + 7);
}
static inline float near(long i, long j) { return i < 0 || j < 0 || i >= pond || j >= pond ? 0 : still[i][j]; }
static inline void wave_edge(long i, long j) {
  const float u = still[i][j], around = near(i - 1, j) + near(i + 1, j) + (near(i, j - 1) + near(i, j + 1));
  moved[i][j] = fmaf(0.3f, fmaf(-4, u, around), fmaf(2, u, -before[i][j]));
}
static void wave_part(int part) {
  PART(pond);
  MINE(i) {
    if (i == 0 || i == pond - 1) {
      EACH(j, pond) wave_edge(i, j);
      continue;
    }
    wave_edge(i, 0);
    for (long j = 1; j < pond - 1; j++) {
      const float u = still[i][j], around = still[i - 1][j] + still[i + 1][j] + (still[i][j - 1] + still[i][j + 1]);
      moved[i][j] = fmaf(0.3f, fmaf(-4, u, around), fmaf(2, u, -before[i][j]));
    }
    wave_edge(i, pond - 1);
  }
}
static void run_wave(void) { both(wave_part); }
static double sum_moved(void) {
  double s = 0;
  EACH(i, pond) EACH(j, pond) s += fabsf(moved[i][j]);
  return s;
}

static float weights[5][5];
static void fill_convolve(void) {
  fill_pond();
  EACH(p, 5) EACH(q, 5) weights[p][q] = unit(5 * p + q);
}
static void convolve_part(int part) {
  PART(pond);
  MINE(i) {
    const int inner = i >= 2 && i < pond - 2;
    EACH(j, pond) {
      if (inner && j == 2) {
        for (; j < pond - 2; j++) {
          float s = 0;
          EACH(p, 5) EACH(q, 5) s = fmaf(weights[p][q], still[i + 2 - p][j + 2 - q], s);
          moved[i][j] = s;
        }
      }
      float s = 0;
      EACH(p, 5) EACH(q, 5) s = fmaf(weights[p][q], near(i + 2 - p, j + 2 - q), s);
      moved[i][j] = s;
    }
  }
}
static void run_convolve(void) { both(convolve_part); }

enum { wide = 32, high = 2048 };
static uint64_t cells[high][wide], born[high][wide];

static void fill_life(void) {
  EACH(i, high) EACH(j, wide) cells[i][j] = (uint64_t)number(i * wide + j) * 0x9e3779b97f4a7c15u;
}
static void life_part(int part) {
  PART(high);
#define ADD3(one, two, a, b, c) const uint64_t one = a ^ b ^ c, two = (a & b) | (c & (a ^ b))
#define ADD2(one, two, a, b) const uint64_t one = a ^ b, two = a & b
  MINE(y) {
    const uint64_t *const rows[3] = {cells[(y + high - 1) % high], cells[y], cells[(y + 1) % high]};
    EACH(x, wide) {
      const long w = x == 0 ? wide - 1 : x - 1, e = x == wide - 1 ? 0 : x + 1;
      uint64_t left[3], middle[3], right[3];
      EACH(r, 3) {
        middle[r] = rows[r][x];
        left[r] = middle[r] << 1 | rows[r][w] >> 63;
        right[r] = middle[r] >> 1 | rows[r][e] << 63;
      }
      ADD3(a1, a2, left[0], middle[0], right[0]);
      ADD3(b1, b2, left[2], middle[2], right[2]);
      ADD2(c1, c2, left[1], right[1]);
      ADD3(ones, d2, a1, b1, c1);
      ADD3(e2, e4, a2, b2, c2);
      ADD2(twos, f4, e2, d2);
      born[y][x] = twos & ~(e4 | f4) & (ones | middle[1]);
    }
  }
}
static void run_life(void) { both(life_part); }
static double sum_life(void) {
  double s = 0;
  EACH(i, high) EACH(j, wide) s += __builtin_popcountll(born[i][j]);
  return s;
}

enum { messages = 8192, length = 300 };
static uint8_t text[messages][length];
static uint32_t digest[messages][8];
static const uint32_t round_constants[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void fill_text(void) { EACH(i, messages) EACH(j, length) text[i][j] = number(i * length + j); }
static inline uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }
static void compress(uint32_t h[8], const uint8_t *block) {
  uint32_t w[64], s[8];
  EACH(i, 16) {
    memcpy(&w[i], block + 4 * i, 4);
    w[i] = __builtin_bswap32(w[i]);
  }
  for (int i = 16; i < 64; i++) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[i - 7] + (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
  }
  memcpy(s, h, sizeof s);
  EACH(i, 64) {
    uint32_t t = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25));
    t += ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + w[i];
    uint32_t u = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    u += (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + t, s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = t + u;
  }
  EACH(i, 8) h[i] += s[i];
}
static void sha256_part(int part) {
  static const uint32_t start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  };
  PART(messages);
  MINE(i) {
    memcpy(digest[i], start, sizeof start);
    long at = 0;
    for (; at + 64 <= length; at += 64) compress(digest[i], text[i] + at);
    uint8_t last[64] = {0};
    memcpy(last, text[i] + at, length - at);
    last[length - at] = 0x80; // there is room for the length of these messages
    EACH(j, 8) last[63 - j] = (uint64_t)length * 8 >> 8 * j;
    compress(digest[i], last);
  }
}
static void run_sha256(void) { both(sha256_part); }
static double sum_sha256(void) {
  double s = 0;
  EACH(i, messages) EACH(j, 8) s += digest[i][j];
  return s;
}

enum { run_length = 1 << 20 };
static int32_t numbers[run_length], spare[run_length];
static int32_t halves[2];

static void fill_numbers(void) { EACH(i, run_length) numbers[i] = number(i); }
static double sum_numbers(void) {
  double s = 0;
  EACH(i, run_length) s += (double)numbers[i] * (i % 7);
  return s;
}
static void prefix_part(int part) {
  PART(run_length);
  uint32_t s = 0;
  MINE(i) numbers[i] = s += numbers[i];
  halves[part] = s;
}
static void prefix_rest(int part) {
  const long half = run_length / 2, lo = half + half / 2 * part, hi = lo + half / 2;
  MINE(i) numbers[i] += (uint32_t)halves[0];
}
static void run_prefix(void) {
  both(prefix_part);
  both(prefix_rest);
}

static int ascending(const void *p, const void *q) {
  const int32_t a = *(const int32_t *)p, b = *(const int32_t *)q;
  return (a > b) - (a < b);
}
static void sort_part(int part) {
  PART(run_length);
  qsort(numbers + lo, hi - lo, sizeof *numbers, ascending);
}
static void run_sort(void) {
  both(sort_part);
  memcpy(spare, numbers, sizeof spare / 2);
  const int32_t *p = spare, *const end = spare + run_length / 2, *q = numbers + run_length / 2;
  for (long i = 0; p < end; i++) numbers[i] = q == numbers + run_length || *p <= *q ? *p++ : *q++;
}

enum { towns = 512 };
static int32_t way[towns][towns];
static long through;

static void fill_ways(void) {
  EACH(i, towns) EACH(j, towns) way[i][j] = i == j ? 0 : 1 + number(i * towns + j) % 100000;
}
static void paths_part(int part) {
  PART(towns);
  const long k = through;
  MINE(i) EACH(j, towns) {
    const int32_t d = way[i][k] + way[k][j];
    if (d < way[i][j]) way[i][j] = d;
  }
}
static void run_paths(void) {
  for (through = 0; through < towns; through++) both(paths_part);
}
static double sum_ways(void) {
  double s = 0;
  EACH(i, towns) EACH(j, towns) s += way[i][j];
  return s;
}

static void nothing(void) {}
static const struct {
  const char *name;
  void (*fill)(void), (*run)(void);
  double (*sum)(void);
  int anew; // every run needs other data than it has left
} all[] = {
  {"double", fill_x, run_double, sum_x, 0},
  {"sum", fill_x, run_sum, sum_sum, 0},
  {"nbody", fill_nbody, run_nbody, sum_nbody, 0},
  {"blackscholes", fill_options, run_options, sum_options, 0},
  {"mandelbrot", nothing, run_mandelbrot, sum_mandelbrot, 0},
  {"histogram", fill_bytes, run_histogram, sum_histogram, 0},
  {"naive", fill_product, run_naive, sum_product, 0},
  {"matmul", fill_product, run_product, sum_product, 0},
  {"wave", fill_pond, run_wave, sum_moved, 0},
  {"convolve", fill_convolve, run_convolve, sum_moved, 0},
  {"life", fill_life, run_life, sum_life, 0},
  {"sha256", fill_text, run_sha256, sum_sha256, 0},
  {"prefixsum", fill_numbers, run_prefix, sum_numbers, 0},
  {"sort", fill_numbers, run_sort, sum_numbers, 1},
  {"shortestpaths", fill_ways, run_paths, sum_ways, 0},
};

static int shorter(const void *p, const void *q) {
  const double a = *(const double *)p, b = *(const double *)q;
  return (a > b) - (a < b);
}

static double clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void) {
  char name[32];
  int runs;
  while (scanf("%31s %d", name, &runs) == 2) {
    size_t k = 0;
    while (strcmp(all[k].name, name)) k++;
    turn = done = 0;
    pthread_t t;
    pthread_create(&t, 0, second, 0);
    all[k].fill();
    all[k].run();
    const double sum = all[k].sum();
    double *const times = malloc(runs * sizeof *times);
    EACH(i, runs) {
      if (all[k].anew) all[k].fill();
      const double start = clock_ns();
      all[k].run();
      times[i] = clock_ns() - start;
    }
    work = 0;
    ++turn;
    pthread_join(t, 0);
    qsort(times, runs, sizeof *times, shorter);
    printf("%.0f %.17g\n", times[runs / 2], sum);
    fflush(stdout);
    free(times);
  }
}
