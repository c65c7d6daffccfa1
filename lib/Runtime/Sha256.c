/*===- Sha256.c - SHA-256 and HMAC, for what ranks prove to each other ------===*/

#include "Sha256.h"
#include <string.h>

static const uint32_t ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, int count) { return word >> count | word << (32 - count); }

/* Implements section 6.2.2 of FIPS 180-4. */
static void take_block(Sha256 *self) {
  uint32_t words[64], s[8];
  for (size_t k = 0; k < 16; ++k) {
    const uint8_t *at = self->block + 4 * k;
    words[k] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int k = 16; k < 64; ++k) {
    uint32_t a = words[k - 15], b = words[k - 2];
    words[k] = words[k - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + words[k - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  memcpy(s, self->state, sizeof s);
  for (int k = 0; k < 64; ++k) {
    uint32_t first = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                     ((s[4] & s[5]) ^ (~s[4] & s[6])) + ROUNDS[k] + words[k];
    uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int k = 0; k < 8; ++k)
    self->state[k] += s[k];
}

void sha256_begin(Sha256 *self) {
  *self = (Sha256){{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                    0x1f83d9ab, 0x5be0cd19},
                   0,
                   {0}};
}

void sha256_add(Sha256 *self, const void *bytes, size_t count) {
  for (const uint8_t *next = bytes; count > 0;) {
    size_t used = self->bytes % SHA256_BLOCK, taken = SHA256_BLOCK - used;
    taken = taken < count ? taken : count;
    memcpy(self->block + used, next, taken);
    self->bytes += taken;
    next += taken;
    count -= taken;
    if (self->bytes % SHA256_BLOCK == 0)
      take_block(self);
  }
}

void sha256_end(Sha256 *self, uint8_t digest[SHA256_BYTES]) {
  uint64_t bits = 8 * self->bytes;
  uint8_t length[8];
  for (int k = 0; k < 8; ++k)
    length[k] = (uint8_t)(bits >> (56 - 8 * k));
  sha256_add(self, "\x80", 1);
  while (self->bytes % SHA256_BLOCK != SHA256_BLOCK - sizeof length)
    sha256_add(self, "", 1);
  sha256_add(self, length, sizeof length);
  for (int k = 0; k < SHA256_BYTES; ++k)
    digest[k] = (uint8_t)(self->state[k / 4] >> (24 - 8 * (k % 4)));
}

void hmac_sha256(const void *key, size_t key_bytes, const HmacPiece *pieces, size_t count,
                 uint8_t digest[SHA256_BYTES]) {
  uint8_t inner[SHA256_BLOCK] = {0}, outer[SHA256_BLOCK];
  Sha256 hash;
  sha256_begin(&hash);
  if (key_bytes > SHA256_BLOCK) {
    sha256_add(&hash, key, key_bytes);
    sha256_end(&hash, inner);
    sha256_begin(&hash);
  } else {
    memcpy(inner, key, key_bytes);
  }
  for (int k = 0; k < SHA256_BLOCK; ++k) {
    outer[k] = inner[k] ^ 0x5c;
    inner[k] ^= 0x36;
  }
  sha256_add(&hash, inner, sizeof inner);
  for (size_t k = 0; k < count; ++k)
    sha256_add(&hash, pieces[k].bytes, pieces[k].count);
  sha256_end(&hash, digest);
  sha256_begin(&hash);
  sha256_add(&hash, outer, sizeof outer);
  sha256_add(&hash, digest, SHA256_BYTES);
  sha256_end(&hash, digest);
}

bool equal_in_constant_time(const uint8_t *left, const uint8_t *right, size_t count) {
  volatile uint8_t different = 0;
  for (size_t k = 0; k < count; ++k)
    different |= left[k] ^ right[k];
  return different == 0;
}
