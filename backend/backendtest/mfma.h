/* mfma.h - the matrix instructions of AMD's CDNA for devices without, for tests: that the indices
 * of a kernel are right, and a probe's.
 *
 * A wave is 64 neighbours of a group in x, and all waves of a group come here together. Each
 * work-item gives a number of A and one of B, which lie where AMD's matrix instruction calculator
 * says: lane l has A(l%16, l/16) and B(l/16, l%16). They change hands in EXCHANGE, 128 numbers for
 * the wave. Of C lane l has C(l/16*4 + e, l%16) of float32 in part e, C(l/16 + e*4, l%16) of
 * float64. Of bytes they give words of four instead of numbers, or two of them, which change hands
 * one after the other; results are as of float32.
 */
#undef __has_builtin
#define __has_builtin(x) 1
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, x, y, z) MFMA(float4, a, b, c, lane_ / 16 * 4 + e_)
#define __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, x, y, z) MFMA(double4, a, b, c, lane_ / 16 + e_ * 4)
#define __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, x, y, z) MFMA_BYTES(1, a, b, c)
#define __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, x, y, z) MFMA_BYTES(2, a, b, c)
#define MFMA_BYTES(words, a, b, c) ({ \
    const int lane_ = (int)get_local_id(0) % 64; \
    const ulong a_ = (a), b_ = (b); \
    uint4 sums_ = as_uint4(c); \
    for (int w_ = 0; w_ < words; w_++) { \
      EXCHANGE[lane_] = (uint)(a_ >> 32 * w_); \
      EXCHANGE[64 + lane_] = (uint)(b_ >> 32 * w_); \
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
      for (int e_ = 0; e_ < 4; e_++) { \
        for (int i_ = 0; i_ < 16; i_++) { \
          const char x_ = EXCHANGE[i_ / 4 * 16 + lane_ / 16 * 4 + e_] >> 8 * (i_ % 4); \
          const char y_ = EXCHANGE[64 + i_ / 4 * 16 + lane_ % 16] >> 8 * (i_ % 4); \
          sums_[e_] += (uint)(x_ * y_); \
        } \
      } \
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    } \
    as_int4(sums_); \
  })
#define MFMA(type, a, b, c, row) ({ \
    const int lane_ = (int)get_local_id(0) % 64; \
    type sums_ = (c); \
    EXCHANGE[lane_] = (a); \
    EXCHANGE[64 + lane_] = (b); \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    for (int e_ = 0; e_ < 4; e_++) { \
      for (int p_ = 0; p_ < 4; p_++) { \
        sums_[e_] = fma(EXCHANGE[p_ * 16 + (row)], EXCHANGE[64 + p_ * 16 + lane_ % 16], sums_[e_]); \
      } \
    } \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    sums_; \
  })
