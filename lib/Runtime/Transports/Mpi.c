/*===- Mpi.c - A transport over MPI ----------------------------------------===*\
|*
|* This is built once for each implementation of MPI that is found, against its own headers, into
|* lib/llmmem/transport-NAME.so. Counts of MPI are ints, so larger data goes from pair to pair in
|* chunks.
|*
\*===----------------------------------------------------------------------===*/

#include "TransportPairs.h"
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Limits the bytes of one call of MPI. Tests make it small. */
#ifndef LLMMEM_MPI_LARGEST_COUNT
#define LLMMEM_MPI_LARGEST_COUNT INT_MAX
#endif

struct llmmem_group {
  MPI_Comm communicator;
  int rank, size;
  int *counts, *offsets, *other_counts, *other_offsets; /* Those of `size` elements each. */
  MPI_Request *started;                                 /* Messages that were not waited for. */
  int num_started, most_started;
};

enum { PIECE_TAG = 1, STAGE_TAG = 2 };

static int failed(void *state, int code, const char *what) {
  if (code == MPI_SUCCESS)
    return 0;
  llmmem_transport *transport = state;
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, reason, &length);
  snprintf(transport->message, sizeof transport->message, "%s failed: %s", what, reason);
  return 1;
}

static int open_group(void *state, int32_t color, int32_t key, llmmem_group **group) {
  MPI_Comm communicator;
  if (failed(state, MPI_Comm_split(MPI_COMM_WORLD, color, key, &communicator), "MPI_Comm_split"))
    return 1;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  int size;
  MPI_Comm_size(communicator, &size);
  llmmem_group *made = calloc(1, sizeof *made);
  int *numbers = calloc(4 * (size_t)size, sizeof *numbers);
  if (!made || !numbers) {
    free(made);
    free(numbers);
    snprintf(((llmmem_transport *)state)->message, LLMMEM_TRANSPORT_MESSAGE, "out of memory");
    return 1;
  }
  size_t row = (size_t)size;
  *made = (llmmem_group){communicator,      0,    size, numbers, numbers + row, numbers + 2 * row,
                         numbers + 3 * row, NULL, 0,    0};
  MPI_Comm_rank(communicator, &made->rank);
  *group = made;
  return 0;
}

/*===----------------------------------------------------------------------===*/
/* From pair to pair, of any size                                             */
/*===----------------------------------------------------------------------===*/

static int smaller(int64_t bytes) {
  return (int)(bytes < LLMMEM_MPI_LARGEST_COUNT ? bytes : LLMMEM_MPI_LARGEST_COUNT);
}

static int exchange(void *state, llmmem_group *group, const void *sent, int64_t sent_bytes,
                    int32_t to, void *received, int64_t received_bytes, int32_t from) {
  const char *out = sent;
  char *in = received;
  int destination = to < 0 ? MPI_PROC_NULL : to, source = from < 0 ? MPI_PROC_NULL : from;
  do {
    int sends = smaller(sent_bytes), receives = smaller(received_bytes);
    /* A side that has no bytes left meets no call of its peer. */
    int code = MPI_Sendrecv(out, sends, MPI_BYTE, sends ? destination : MPI_PROC_NULL, PIECE_TAG,
                            in, receives, MPI_BYTE, receives ? source : MPI_PROC_NULL, PIECE_TAG,
                            group->communicator, MPI_STATUS_IGNORE);
    if (failed(state, code, "MPI_Sendrecv"))
      return 1;
    out += sends;
    in += receives;
    sent_bytes -= sends;
    received_bytes -= receives;
  } while (sent_bytes > 0 || received_bytes > 0);
  return 0;
}

static MPI_Request *next_request(void *state, llmmem_group *group) {
  if (group->num_started == group->most_started) {
    int most = group->most_started ? 2 * group->most_started : 8;
    MPI_Request *more = realloc(group->started, (size_t)most * sizeof *more);
    if (!more) {
      snprintf(((llmmem_transport *)state)->message, LLMMEM_TRANSPORT_MESSAGE, "out of memory");
      return NULL;
    }
    group->started = more;
    group->most_started = most;
  }
  return &group->started[group->num_started++];
}

enum { SENDS, RECEIVES };

/* For a message that is sent, `data` is only read. */
static int start(void *state, llmmem_group *group, char *data, int64_t bytes, int32_t peer,
                 int way) {
  while (bytes > 0) {
    int count = smaller(bytes);
    MPI_Request *request = next_request(state, group);
    if (!request)
      return 1;
    int code =
        way == SENDS
            ? MPI_Isend(data, count, MPI_BYTE, peer, STAGE_TAG, group->communicator, request)
            : MPI_Irecv(data, count, MPI_BYTE, peer, STAGE_TAG, group->communicator, request);
    if (failed(state, code, way == SENDS ? "MPI_Isend" : "MPI_Irecv"))
      return 1;
    data += count;
    bytes -= count;
  }
  return 0;
}

static int start_send(void *state, llmmem_group *group, const void *sent, int64_t bytes,
                      int32_t to) {
  return start(state, group, (char *)sent, bytes, to, SENDS);
}

static int start_receive(void *state, llmmem_group *group, void *received, int64_t bytes,
                         int32_t from) {
  return start(state, group, received, bytes, from, RECEIVES);
}

static int wait_all(void *state, llmmem_group *group) {
  int count = group->num_started;
  group->num_started = 0;
  return failed(state, MPI_Waitall(count, group->started, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

static Pairs pairs_of(void *state, llmmem_group *group) {
  return (Pairs){state, group, group->rank, group->size, exchange};
}

/*===----------------------------------------------------------------------===*/
/* Collectives                                                                */
/*===----------------------------------------------------------------------===*/

/* Writes the places of the pieces into `counts` and `offsets`. */
static void describe_pieces(llmmem_group *group, llmmem_pieces pieces) {
  for (int k = 0; k < group->size; ++k) {
    group->counts[k] = (int)llmmem_piece_bytes(pieces, k);
    group->offsets[k] = group->counts[k] ? (int)(k * pieces.size) : 0;
  }
}

static int scatter(void *state, llmmem_group *group, const void *whole, llmmem_pieces pieces,
                   void *received) {
  int64_t own = llmmem_piece_bytes(pieces, group->rank);
  if (pieces.total > LLMMEM_MPI_LARGEST_COUNT || own * group->size > LLMMEM_MPI_LARGEST_COUNT)
    return scatter_in_pairs(pairs_of(state, group), whole, pieces, received);
  describe_pieces(group, pieces);
  for (int k = 0; k < group->size; ++k) {
    group->other_counts[k] = (int)own;
    group->other_offsets[k] = (int)(k * own);
  }
  int code =
      MPI_Alltoallv(whole, group->counts, group->offsets, MPI_BYTE, received, group->other_counts,
                    group->other_offsets, MPI_BYTE, group->communicator);
  return failed(state, code, "MPI_Alltoallv");
}

static int gather(void *state, llmmem_group *group, void *whole, llmmem_pieces pieces) {
  if (pieces.total > LLMMEM_MPI_LARGEST_COUNT)
    return gather_in_pairs(pairs_of(state, group), whole, pieces);
  describe_pieces(group, pieces);
  int code = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, group->counts,
                            group->offsets, MPI_BYTE, group->communicator);
  return failed(state, code, "MPI_Allgatherv");
}

static int broadcast(void *state, llmmem_group *group, void *data, int64_t bytes, int32_t root) {
  for (char *from = data; bytes > 0;) {
    int count = smaller(bytes);
    if (failed(state, MPI_Bcast(from, count, MPI_BYTE, root, group->communicator), "MPI_Bcast"))
      return 1;
    from += count;
    bytes -= count;
  }
  return 0;
}

static int barrier(void *state, llmmem_group *group) {
  return failed(state, MPI_Barrier(group->communicator), "MPI_Barrier");
}

static void abort_job(void *state, int32_t code) {
  (void)state;
  MPI_Abort(MPI_COMM_WORLD, code);
}

static void close_job(void *state) {
  (void)state;
  MPI_Finalize();
}

/*===----------------------------------------------------------------------===*/
/* Opening                                                                    */
/*===----------------------------------------------------------------------===*/

static void name_library(char *name, size_t size) {
#ifdef OPEN_MPI
  snprintf(name, size, "Open MPI %d.%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
           OMPI_RELEASE_VERSION);
#else
  snprintf(name, size, "MPICH %s", MPICH_VERSION);
#endif
}

int llmmem_open_transport(llmmem_transport *transport) {
  int serialized = transport->serialized;
  int wanted = serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED, provided = 0;
  if (failed(transport, MPI_Init_thread(NULL, NULL, wanted, &provided), "MPI_Init_thread"))
    return 1;
  if (provided < wanted) {
    snprintf(transport->message, sizeof transport->message, "%s",
             serialized ? "this MPI supports no calls from a thread of communication "
                          "(MPI_THREAD_SERIALIZED); plan the step without --overlap"
                        : "this MPI supports no process of several threads (MPI_THREAD_FUNNELED)");
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  *transport = (llmmem_transport){.version = LLMMEM_TRANSPORT_VERSION,
                                  .rank = rank,
                                  .ranks = ranks,
                                  .serialized = serialized,
                                  .state = transport,
                                  LLMMEM_TRANSPORT_CALLS};
  name_library(transport->name, sizeof transport->name);
  return 0;
}
