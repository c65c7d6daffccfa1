/*===- Handshake.c - How two ranks prove that they are of one job ------------===*/

#define _GNU_SOURCE /* getrandom */
#include "Handshake.h"
#include <string.h>
#include <sys/random.h>

static const uint8_t HELLO[MAGIC_BYTES] = "llmmH02", CHALLENGE[MAGIC_BYTES] = "llmmC02";

static int fill_random(uint8_t random[SHA256_BYTES]) {
  return getrandom(random, SHA256_BYTES, 0) != SHA256_BYTES;
}

/* `role` keeps a proof from serving as the other side's. */
static void prove(const uint8_t token[SHA256_BYTES], const char *role, const Hello *hello,
                  const Challenge *challenge, uint8_t proof[SHA256_BYTES]) {
  HmacPiece pieces[] = {
      {role, strlen(role) + 1}, {hello, sizeof *hello}, {challenge, offsetof(Challenge, proof)}};
  hmac_sha256(token, SHA256_BYTES, pieces, sizeof pieces / sizeof *pieces, proof);
}

int llmmem_say_hello(int32_t rank, int32_t ranks, int32_t port, Hello *hello) {
  *hello = (Hello){.rank = rank, .ranks = ranks, .port = port};
  memcpy(hello->magic, HELLO, sizeof HELLO);
  return fill_random(hello->random);
}

int llmmem_challenge(const uint8_t token[SHA256_BYTES], const Hello *hello, int32_t rank,
                     int32_t ranks, Challenge *challenge) {
  *challenge = (Challenge){.rank = rank, .ranks = ranks};
  memcpy(challenge->magic, CHALLENGE, sizeof CHALLENGE);
  if (fill_random(challenge->random))
    return 1;
  prove(token, "listens", hello, challenge, challenge->proof);
  return 0;
}

void llmmem_answer(const uint8_t token[SHA256_BYTES], const Hello *hello,
                   const Challenge *challenge, Answer *answer) {
  prove(token, "connects", hello, challenge, answer->proof);
}

bool llmmem_may_be_hello(const Hello *hello, size_t count) {
  return memcmp(hello->magic, HELLO, count < sizeof HELLO ? count : sizeof HELLO) == 0;
}

bool llmmem_is_challenge(const Challenge *challenge) {
  return memcmp(challenge->magic, CHALLENGE, sizeof CHALLENGE) == 0;
}

bool llmmem_trust_challenge(const uint8_t token[SHA256_BYTES], const Hello *hello,
                            const Challenge *challenge) {
  uint8_t proof[SHA256_BYTES];
  prove(token, "listens", hello, challenge, proof);
  return equal_in_constant_time(proof, challenge->proof, sizeof proof);
}

bool llmmem_trust_answer(const uint8_t token[SHA256_BYTES], const Hello *hello,
                         const Challenge *challenge, const Answer *answer) {
  uint8_t proof[SHA256_BYTES];
  prove(token, "connects", hello, challenge, proof);
  return equal_in_constant_time(proof, answer->proof, sizeof proof);
}
