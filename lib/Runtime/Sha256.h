/*===- Sha256.h - SHA-256 and HMAC, for what ranks prove to each other ------===*/

#ifndef LLMMEM_LIB_RUNTIME_SHA256_H
#define LLMMEM_LIB_RUNTIME_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

/* Implements FIPS 180-4. Call `sha256_begin`, any number of `sha256_add`, `sha256_end`. */
typedef struct {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[SHA256_BLOCK];
} Sha256;

void sha256_begin(Sha256 *self);
void sha256_add(Sha256 *self, const void *bytes, size_t count);
void sha256_end(Sha256 *self, uint8_t digest[SHA256_BYTES]);

/* Computes HMAC-SHA-256 (RFC 2104) of pieces that follow each other. */
typedef struct {
  const void *bytes;
  size_t count;
} HmacPiece;
void hmac_sha256(const void *key, size_t key_bytes, const HmacPiece *pieces, size_t count,
                 uint8_t digest[SHA256_BYTES]);

/* Takes a time that depends on `count` alone. */
bool equal_in_constant_time(const uint8_t *left, const uint8_t *right, size_t count);

#endif /* LLMMEM_LIB_RUNTIME_SHA256_H */
