/*===- Handshake.h - How two ranks prove that they are of one job ------------===*\
|*
|* The connecting side says hello, the listening side answers with a challenge, the connecting side
|* answers that, and the listening side sends its verdict. Both prove by HMAC over each other's
|* random numbers that they know the job's token; the token itself is never sent. Except for the
|* magic, nothing that came from the other side is used before its proof has been checked.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_HANDSHAKE_H
#define LLMMEM_LIB_RUNTIME_HANDSHAKE_H

#include "Sha256.h"

enum { MAGIC_BYTES = 8 };

/* `port` is where the rank listens for later ranks, on the address from which it connects. */
typedef struct {
  uint8_t magic[MAGIC_BYTES];
  int32_t rank, ranks, port, unused;
  uint8_t random[SHA256_BYTES];
} Hello;

typedef struct {
  uint8_t magic[MAGIC_BYTES];
  int32_t rank, ranks; /* Those of the listening side. */
  uint8_t random[SHA256_BYTES], proof[SHA256_BYTES];
} Challenge;

typedef struct {
  uint8_t proof[SHA256_BYTES];
} Answer;

typedef enum { ADMITTED, OTHER_RANKS, NO_SUCH_RANK, RANK_IS_THERE } Refusal;

typedef struct {
  int32_t refusal;
} Verdict;

/* Both fail, with 1, only where the system provides no random numbers. */
int llmmem_say_hello(int32_t rank, int32_t ranks, int32_t port, Hello *hello);
int llmmem_challenge(const uint8_t token[SHA256_BYTES], const Hello *hello, int32_t rank,
                     int32_t ranks, Challenge *challenge);
void llmmem_answer(const uint8_t token[SHA256_BYTES], const Hello *hello,
                   const Challenge *challenge, Answer *answer);

/* Returns whether the first `count` bytes of a hello can be those of a rank. */
bool llmmem_may_be_hello(const Hello *hello, size_t count);
bool llmmem_is_challenge(const Challenge *challenge);
/* Returns whether the other side knows the token. */
bool llmmem_trust_challenge(const uint8_t token[SHA256_BYTES], const Hello *hello,
                            const Challenge *challenge);
bool llmmem_trust_answer(const uint8_t token[SHA256_BYTES], const Hello *hello,
                         const Challenge *challenge, const Answer *answer);

#endif /* LLMMEM_LIB_RUNTIME_HANDSHAKE_H */
