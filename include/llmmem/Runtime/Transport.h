/*===- Transport.h - How bytes move between the ranks of a job -------------===*\
|*
|* Says what a library that connects processes (MPI) does for llmmem: it moves bytes and adds
|* nothing. Sums are llmmem's own (Collectives.h), in the order of the ranks, so that they are the
|* same over every transport.
|*
|* A transport is a shared library with one function, `llmmem_open_transport`. The interface shows
|* no type of the library that it wraps, so one llmmem-run serves every implementation of MPI. All
|* ranks call the same functions in the same order, each from one thread at a time: always the one
|* that opened it, unless it was opened as `serialized`.
|*
|* Functions return 0, or 1 and then `message` says why. Counts are bytes and may exceed 2^31.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_TRANSPORT_H
#define LLMMEM_RUNTIME_TRANSPORT_H

#include "llmmem/Runtime/ExternC.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

enum { LLMMEM_TRANSPORT_VERSION = 3, LLMMEM_TRANSPORT_MESSAGE = 512 };

/* Splits a buffer of `total` bytes into pieces, one for each member of a group, in order: piece k
 * has the bytes from min(k * size, total) to min((k + 1) * size, total). Example: 10 bytes for 4
 * members with size 3 make pieces of 3, 3, 3 and 1. */
typedef struct {
  int64_t total, size;
} llmmem_pieces;

/* Returns the bytes of piece `k`, which may be 0. */
static inline int64_t llmmem_piece_bytes(llmmem_pieces pieces, int64_t k) {
  int64_t left = pieces.total - k * pieces.size;
  return left < 0 ? 0 : left < pieces.size ? left : pieces.size;
}

typedef struct llmmem_group llmmem_group; /* The transport defines it. */

/* It has many fields because it is the table of what a transport can do. */
typedef struct {
  int32_t version; /* LLMMEM_TRANSPORT_VERSION */
  int32_t rank, ranks;
  int32_t serialized; /* Set by the opener: calls come from several threads, one at a time. */
  char name[64];      /* For example "Open MPI 4.1.4". */
  void *state;
  char message[LLMMEM_TRANSPORT_MESSAGE];

  /* Makes ranks of equal `color` a group, in the order of `key`. All ranks of the job call it. */
  int (*open_group)(void *state, int32_t color, int32_t key, llmmem_group **group);
  /* Member j sends its piece k of `whole` to member k, which receives it at `received` + j times
   * the bytes of piece k. With pieces.total = members * size this is an all-to-all. */
  int (*scatter)(void *state, llmmem_group *group, const void *whole, llmmem_pieces pieces,
                 void *received);
  /* Each member has its own piece of `whole` in place, and receives those of the others. */
  int (*gather)(void *state, llmmem_group *group, void *whole, llmmem_pieces pieces);
  int (*broadcast)(void *state, llmmem_group *group, void *data, int64_t bytes, int32_t root);
  /* Sends to member `to` and receives from member `from` at once; -1 means no member. It has many
   * parameters because they are those of MPI_Sendrecv, a message each way. */
  int (*exchange)(void *state, llmmem_group *group, const void *sent, int64_t sent_bytes,
                  int32_t to, void *received, int64_t received_bytes, int32_t from);
  /* Start messages that are done when wait_all returns; until then the transport owns their
   * buffers. Between two members they arrive in the order in which they start. */
  int (*start_send)(void *state, llmmem_group *group, const void *sent, int64_t bytes, int32_t to);
  int (*start_receive)(void *state, llmmem_group *group, void *received, int64_t bytes,
                       int32_t from);
  int (*wait_all)(void *state, llmmem_group *group);
  int (*barrier)(void *state, llmmem_group *group);
  /* All ranks call it when each knows that the job fails. Every rank then ends by itself, with its
   * own message, and none takes the end of another for a fault. Null means that the launcher ends
   * all. */
  void (*fail_together)(void *state);
  /* Ends all ranks of the job. */
  void (*abort)(void *state, int32_t code);
  /* All ranks call it when they are done. */
  void (*close)(void *state);
} llmmem_transport;

/* Fills `transport`. On failure returns 1 with transport->message filled. */
__attribute__((visibility("default"))) int llmmem_open_transport(llmmem_transport *transport);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_TRANSPORT_H */
