/* The compression function of SHA-256 on one block of a message. */
CONSTMEM uint rounds[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define ROTR(x, n) ((x) >> (n) | (x) << (32 - (n)))

__kernel void sha256(const int n, __global const uchar *blocks, __global uint *digests) {
  const int i = (int)get_global_id(0);
  if (i >= n) return;
  uint w[64];
  for (int t = 0; t < 16; t++) {
    __global const uchar *p = blocks + (size_t)i * 64 + 4 * t;
    w[t] = (uint)p[0] << 24 | (uint)p[1] << 16 | (uint)p[2] << 8 | p[3];
  }
  for (int t = 16; t < 64; t++) {
    const uint a = w[t - 15], b = w[t - 2];
    w[t] = w[t - 16] + (ROTR(a, 7) ^ ROTR(a, 18) ^ a >> 3) + w[t - 7] + (ROTR(b, 17) ^ ROTR(b, 19) ^ b >> 10);
  }
  const uint init[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint h[8];
  for (int k = 0; k < 8; k++) h[k] = init[k];
  for (int t = 0; t < 64; t++) {
    const uint t1 = h[7] + (ROTR(h[4], 6) ^ ROTR(h[4], 11) ^ ROTR(h[4], 25)) + ((h[4] & h[5]) ^ (~h[4] & h[6])) + rounds[t] + w[t];
    const uint t2 = (ROTR(h[0], 2) ^ ROTR(h[0], 13) ^ ROTR(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
    for (int k = 7; k > 0; k--) h[k] = h[k - 1];
    h[4] += t1;
    h[0] = t1 + t2;
  }
  for (int k = 0; k < 8; k++) digests[8 * i + k] = h[k] + init[k];
}
