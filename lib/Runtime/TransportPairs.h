/*===- TransportPairs.h - Pieces of a transport from pair to pair ----------===*\
|*
|* Transports that exchange with one member at a time build on this: at distance d every member
|* sends to the one d after it and receives from the one d before it, so all have a peer.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_TRANSPORTPAIRS_H
#define LLMMEM_LIB_RUNTIME_TRANSPORTPAIRS_H

#include "llmmem/Runtime/Transport.h"
#include <string.h>

/* Describes a group of `size` members, of which this is `rank`, and the transport's `exchange`. */
typedef struct {
  void *state;
  llmmem_group *group;
  int rank, size;
  int (*exchange)(void *state, llmmem_group *group, const void *sent, int64_t sent_bytes,
                  int32_t to, void *received, int64_t received_bytes, int32_t from);
} Pairs;

/* These are `scatter` and `gather` of a transport. */
static inline int scatter_in_pairs(Pairs pairs, const char *whole, llmmem_pieces pieces,
                                   char *received) {
  int64_t own = llmmem_piece_bytes(pieces, pairs.rank);
  memcpy(received + pairs.rank * own, whole + pairs.rank * pieces.size, (size_t)own);
  for (int distance = 1; distance < pairs.size; ++distance) {
    int to = (pairs.rank + distance) % pairs.size;
    int from = (pairs.rank - distance + pairs.size) % pairs.size;
    if (pairs.exchange(pairs.state, pairs.group, whole + to * pieces.size,
                       llmmem_piece_bytes(pieces, to), to, received + from * own, own, from))
      return 1;
  }
  return 0;
}

static inline int gather_in_pairs(Pairs pairs, char *whole, llmmem_pieces pieces) {
  for (int distance = 1; distance < pairs.size; ++distance) {
    int to = (pairs.rank + distance) % pairs.size;
    int from = (pairs.rank - distance + pairs.size) % pairs.size;
    if (pairs.exchange(pairs.state, pairs.group, whole + pairs.rank * pieces.size,
                       llmmem_piece_bytes(pieces, pairs.rank), to, whole + from * pieces.size,
                       llmmem_piece_bytes(pieces, from), from))
      return 1;
  }
  return 0;
}

/* Lists the calls of a transport, in a file whose functions have their names. */
#define LLMMEM_TRANSPORT_CALLS                                                                     \
  .open_group = open_group, .scatter = scatter, .gather = gather, .broadcast = broadcast,          \
  .exchange = exchange, .start_send = start_send, .start_receive = start_receive,                  \
  .wait_all = wait_all, .barrier = barrier, .abort = abort_job, .close = close_job

#endif /* LLMMEM_LIB_RUNTIME_TRANSPORTPAIRS_H */
