/*===- FakeNccl.c - A NCCL whose ranks are processes of one machine ----------===*\
|*
|* Stands for libnccl.so.2 where the calls of collectives are tested. What a call moves it moves, on
|* the fake driver's memory or on the host's, through shared memory; inside a capture it becomes a
|* node of the graph, which every replay runs. Sums run over the ranks from 0 on and are rounded
|* once, so that they can be compared with llmmem's own. Streams are in order by themselves: all
that
|* is not captured is done when its call returns. Each call is a line of the driver's log.
|*
|*   LLMMEM_FAKE_NCCL_FAIL=ncclAllReduce:2   the second call of that name fails
|*   LLMMEM_FAKE_NCCL_RANK=1                 ... on that rank alone
|*   LLMMEM_FAKE_NCCL_VERSION=21703          what it says its version is (default 22809)
|*   LLMMEM_FAKE_NCCL_SECONDS=5              a call that waits longer for its peers fails (default
60)
|*
|* Unlike NCCL, it refuses calls of one communicator that do not match: by name, count or type.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE /* MAP_ANONYMOUS, usleep */
#include "CudaDriver.h"
#include "FakeDriver.h"
#include "Nccl.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 16, SLOT_BYTES = 16 << 10, MOST_OPS = 256, BUFFER_BYTES = 1 << 20 };

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);

/* A letter box from one rank to another. The writer fills it where `written` == `read`. */
typedef struct {
  _Atomic uint32_t written, read;
  int32_t bytes;
  char what[28]; /* the call that writes, to compare */
  char data[SLOT_BYTES];
} Slot;

struct NcComm {
  char path[NC_ID_BYTES];
  int rank, ranks, splits, has_failed;
  CUdeviceptr buffer; /* as NCCL has some, of which nothing is used */
  Slot *slots;        /* [from * ranks + to] */
};

static char last_error[256];

/*===----------------------------------------------------------------------===*/
/* Failing                                                                    */
/*===----------------------------------------------------------------------===*/

static int64_t number_of(const char *variable, int64_t otherwise) {
  const char *text = getenv(variable);
  return text ? strtoll(text, NULL, 10) : otherwise;
}

static NcResult fail_if_asked(const char *name, int rank) {
  static int calls;
  if (number_of("LLMMEM_FAKE_NCCL_RANK", rank) != rank ||
      !llmmem_fake_cuda_must_fail("LLMMEM_FAKE_NCCL_FAIL", name, &calls))
    return NC_SUCCESS;
  snprintf(last_error, sizeof last_error, "a failure that was asked for");
  return NC_UNHANDLED_CUDA_ERROR;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/*===----------------------------------------------------------------------===*/
/* Messages                                                                   */
/*===----------------------------------------------------------------------===*/

/* One message, in pieces of a slot. */
typedef struct {
  NcComm *comm;
  char *bytes;
  size_t left;
  int peer, sends;
  char what[28];
} Message;

/* Moves what can be moved now. Returns whether anything was; -1 for a mismatch. */
static int progress(Message *message) {
  NcComm *comm = message->comm;
  int from = message->sends ? comm->rank : message->peer,
      to = message->sends ? message->peer : comm->rank;
  Slot *slot = &comm->slots[from * comm->ranks + to];
  int is_empty = atomic_load(&slot->written) == atomic_load(&slot->read);
  if (message->left == 0 || is_empty != message->sends)
    return 0;
  size_t piece = message->left < SLOT_BYTES ? message->left : SLOT_BYTES;
  if (message->sends) {
    memcpy(slot->data, message->bytes, piece);
    memcpy(slot->what, message->what, sizeof slot->what);
    slot->bytes = (int32_t)piece;
    atomic_fetch_add(&slot->written, 1);
  } else {
    if (slot->bytes != (int32_t)piece || strcmp(slot->what, message->what) != 0) {
      snprintf(last_error, sizeof last_error, "rank %d calls %s with %d bytes, and rank %d %s",
               from, slot->what, slot->bytes, to, message->what);
      return -1;
    }
    memcpy(message->bytes, slot->data, piece);
    atomic_fetch_add(&slot->read, 1);
  }
  message->bytes += piece;
  message->left -= piece;
  return 1;
}

/* Messages between the same two ranks are in order: a later one waits for an earlier one. */
static int is_first(const Message *messages, int number) {
  for (int k = 0; k < number; ++k)
    if (messages[k].left > 0 && messages[k].comm == messages[number].comm &&
        messages[k].peer == messages[number].peer && messages[k].sends == messages[number].sends)
      return 0;
  return 1;
}

static NcResult run_messages(Message *messages, int count) {
  double end = now() + (double)number_of("LLMMEM_FAKE_NCCL_SECONDS", 60);
  for (;;) {
    int left = 0, moved = 0;
    for (int k = 0; k < count; ++k) {
      int code = is_first(messages, k) ? progress(&messages[k]) : 0;
      if (code < 0)
        return NC_INVALID_USAGE;
      moved |= code;
      left |= messages[k].left > 0;
    }
    if (!left)
      return NC_SUCCESS;
    if (!moved && now() > end) {
      snprintf(last_error, sizeof last_error, "waited in vain in %s", messages[0].what);
      return NC_REMOTE_ERROR;
    }
    if (!moved)
      usleep(20);
  }
}

static Message message_of(NcComm *comm, int sends, const void *bytes, size_t count, int peer,
                          const char *what) {
  Message message = {comm, (char *)bytes, count, peer, sends, ""};
  snprintf(message.what, sizeof message.what, "%s", what);
  return message;
}

/* Rank r's `bytes` of `all` from rank r, and own + r * stride to it (stride 0: the same to all). */
static NcResult swap_all(NcComm *comm, const char *own, size_t stride, char *all, size_t bytes,
                         const char *what) {
  Message messages[2 * MOST_RANKS];
  int count = 0;
  memmove(all + (size_t)comm->rank * bytes, own + (size_t)comm->rank * stride, bytes);
  for (int rank = 0; rank < comm->ranks; ++rank)
    if (rank != comm->rank) {
      messages[count++] = message_of(comm, 1, own + (size_t)rank * stride, bytes, rank, what);
      messages[count++] = message_of(comm, 0, all + (size_t)rank * bytes, bytes, rank, what);
    }
  return run_messages(messages, count);
}

/*===----------------------------------------------------------------------===*/
/* Sums                                                                       */
/*===----------------------------------------------------------------------===*/

static size_t width_of(int type) {
  return type == NC_TYPE_F64                           ? 8
         : type == NC_TYPE_BF16 || type == NC_TYPE_F16 ? 2
         : type == NC_TYPE_U8                          ? 1
                                                       : 4;
}

/* Reads a number of at most 32 bits. */
static float single_at(const char *at, int type) {
  float number;
  if (type == NC_TYPE_F16) {
    _Float16 half;
    memcpy(&half, at, sizeof half);
    return half;
  }
  uint32_t bits = 0;
  memcpy((char *)&bits + (type == NC_TYPE_BF16 ? 2 : 0), at, width_of(type));
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Rounds to nearest, ties to even, where the type is a narrower one. */
static void write_single(float number, int type, char *to) {
  if (type == NC_TYPE_F16) {
    const _Float16 half = (_Float16)number;
    memcpy(to, &half, sizeof half);
    return;
  }
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (type == NC_TYPE_BF16)
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  memcpy(to, &bits, width_of(type));
}

/* sum[i] = the sum over ranks of all[rank * count + i] */
static void add_ranks(const char *all, int ranks, size_t count, int type, char *sum) {
  for (size_t i = 0; i < count; ++i) {
    double wide = 0;
    float single = 0;
    uint32_t whole = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const char *at = all + ((size_t)rank * count + i) * width_of(type);
      double f64 = 0;
      uint32_t i32 = 0;
      memcpy(&f64, at, type == NC_TYPE_F64 ? 8 : 0);
      memcpy(&i32, at, type == NC_TYPE_I32 ? 4 : 0);
      if (type == NC_TYPE_F64)
        wide = rank ? wide + f64 : f64;
      else if (type == NC_TYPE_I32)
        whole += i32;
      else
        single = rank ? single + single_at(at, type) : single_at(at, type);
    }
    char *to = sum + i * width_of(type);
    if (type == NC_TYPE_F64)
      memcpy(to, &wide, sizeof wide);
    else if (type == NC_TYPE_I32)
      memcpy(to, &whole, sizeof whole);
    else
      write_single(single, type, to);
  }
}

/*===----------------------------------------------------------------------===*/
/* Calls                                                                      */
/*===----------------------------------------------------------------------===*/

enum Kind { ALL_REDUCE, REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, SEND, RECEIVE };

typedef struct {
  enum Kind kind;
  NcComm *comm;
  const char *x;
  char *y;
  size_t count;
  int type, peer; /* root, or the other rank of a message */
} Op;

/* What one call or one group does: a node of a graph. */
typedef struct {
  Op ops[MOST_OPS];
  int count;
} Work;

static const char *const kinds[] = {"ncclAllReduce", "ncclReduce",    "ncclReduceScatter",
                                    "ncclAllGather", "ncclBroadcast", "ncclSend",
                                    "ncclRecv"};

static NcResult sum(const Op *op) {
  int is_scattered = op->kind == REDUCE_SCATTER;
  size_t bytes = op->count * width_of(op->type);
  char *all = malloc((size_t)op->comm->ranks * bytes + 1);
  NcResult code = swap_all(op->comm, op->x, is_scattered ? bytes : 0, all, bytes, kinds[op->kind]);
  if (code == NC_SUCCESS && (op->kind != REDUCE || op->comm->rank == op->peer))
    add_ranks(all, op->comm->ranks, op->count, op->type, op->y);
  free(all);
  return code;
}

static NcResult broadcast(const Op *op) {
  size_t bytes = op->count * width_of(op->type);
  Message messages[MOST_RANKS];
  int count = 0;
  if (op->comm->rank != op->peer)
    messages[count++] = message_of(op->comm, 0, op->y, bytes, op->peer, "ncclBroadcast");
  else
    memmove(op->y, op->x, bytes);
  for (int rank = 0; op->comm->rank == op->peer && rank < op->comm->ranks; ++rank)
    if (rank != op->peer)
      messages[count++] = message_of(op->comm, 1, op->x, bytes, rank, "ncclBroadcast");
  return run_messages(messages, count);
}

static NcResult run_pairs(const Work *work) {
  Message messages[MOST_OPS];
  int count = 0;
  for (int k = 0; k < work->count; ++k) {
    const Op *op = &work->ops[k];
    size_t bytes = op->count * width_of(op->type);
    if (op->peer != op->comm->rank) {
      messages[count++] = message_of(op->comm, op->kind == SEND, op->kind == SEND ? op->x : op->y,
                                     bytes, op->peer, "a pair");
      continue;
    }
    /* To itself: what it receives is what it sends to itself, in order. */
    int nth = 0, found = 0;
    for (int j = 0; j < k; ++j)
      nth += work->ops[j].kind == op->kind && work->ops[j].peer == op->peer;
    for (int j = 0; op->kind == RECEIVE && j < work->count; ++j)
      if (work->ops[j].kind == SEND && work->ops[j].peer == op->peer && found++ == nth)
        memmove(op->y, work->ops[j].x, bytes);
  }
  return run_messages(messages, count);
}

static NcResult run_work(const Work *work) {
  const Op *op = &work->ops[0];
  if (work->count == 0)
    return NC_SUCCESS;
  switch (op->kind) {
  case ALL_GATHER:
    return swap_all(op->comm, op->x, 0, op->y, op->count * width_of(op->type), "ncclAllGather");
  case BROADCAST:
    return broadcast(op);
  case SEND:
  case RECEIVE:
    return run_pairs(work);
  default:
    return sum(op);
  }
}

/* A graph has no result: the next call of the communicator says that it failed. */
static void run_node(void *context) {
  Work *work = context;
  NcResult code = run_work(work);
  if (code == NC_SUCCESS)
    return;
  work->ops[0].comm->has_failed = code;
  fprintf(stderr, "fake NCCL: %s in a graph: %s\n", kinds[work->ops[0].kind], last_error);
  exit(9);
}

static NcResult run_or_capture(const Work *work) {
  if (!llmmem_fake_cuda_is_capturing())
    return run_work(work);
  Work *kept = malloc(sizeof *kept);
  *kept = *work;
  return llmmem_fake_cuda_node(run_node, kept) ? NC_SYSTEM_ERROR : NC_SUCCESS;
}

static Work group;
static int is_grouped;

static NcResult call(Op op, void *stream) {
  NcResult code = fail_if_asked(kinds[op.kind], op.comm->rank);
  if (code != NC_SUCCESS)
    return code;
  char from[64], to[64];
  llmmem_fake_cuda_note("%s%s %s to %s %zu of type %d, rank %d of %d, other %d%s%s",
                        llmmem_fake_cuda_is_capturing() ? "node " : "", kinds[op.kind],
                        llmmem_fake_cuda_place((uintptr_t)op.x, from, sizeof from),
                        llmmem_fake_cuda_place((uintptr_t)op.y, to, sizeof to), op.count, op.type,
                        op.comm->rank, op.comm->ranks, op.peer, is_grouped ? ", grouped" : "",
                        llmmem_fake_cuda_stream(stream));
  llmmem_fake_cuda_take_time(kinds[op.kind]);
  if (op.peer >= op.comm->ranks) {
    snprintf(last_error, sizeof last_error, "rank %d of %d", op.peer, op.comm->ranks);
    return NC_INVALID_ARGUMENT;
  }
  if (is_grouped) {
    if (group.count == MOST_OPS)
      return NC_INVALID_USAGE;
    group.ops[group.count++] = op;
    return NC_SUCCESS;
  }
  Work work = {.count = 1};
  work.ops[0] = op;
  return run_or_capture(&work);
}

NcResult ncclGroupStart(void) {
  is_grouped = 1;
  group.count = 0;
  return NC_SUCCESS;
}

NcResult ncclGroupEnd(void) {
  is_grouped = 0;
  return run_or_capture(&group);
}

NcResult ncclAllReduce(const void *x, void *sum, size_t count, int type, int op, NcComm *comm,
                       void *stream) {
  return call((Op){ALL_REDUCE, comm, x, sum, count, type, -1}, stream);
}

NcResult ncclReduceScatter(const void *whole, void *part, size_t count, int type, int op,
                           NcComm *comm, void *stream) {
  return call((Op){REDUCE_SCATTER, comm, whole, part, count, type, -1}, stream);
}

NcResult ncclAllGather(const void *part, void *whole, size_t count, int type, NcComm *comm,
                       void *stream) {
  return call((Op){ALL_GATHER, comm, part, whole, count, type, -1}, stream);
}

NcResult ncclBroadcast(const void *x, void *y, size_t count, int type, int root, NcComm *comm,
                       void *stream) {
  return call((Op){BROADCAST, comm, x, y, count, type, root}, stream);
}

NcResult ncclReduce(const void *x, void *sum, size_t count, int type, int op, int root,
                    NcComm *comm, void *stream) {
  return call((Op){REDUCE, comm, x, sum, count, type, root}, stream);
}

NcResult ncclSend(const void *x, size_t count, int type, int to, NcComm *comm, void *stream) {
  return call((Op){SEND, comm, x, NULL, count, type, to}, stream);
}

NcResult ncclRecv(void *y, size_t count, int type, int from, NcComm *comm, void *stream) {
  return call((Op){RECEIVE, comm, NULL, y, count, type, from}, stream);
}

/*===----------------------------------------------------------------------===*/
/* Communicators                                                              */
/*===----------------------------------------------------------------------===*/

NcResult ncclGetVersion(int *version) {
  *version = (int)number_of("LLMMEM_FAKE_NCCL_VERSION", 22809);
  return NC_SUCCESS;
}

const char *ncclGetErrorString(NcResult result) {
  static const char *const texts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process exited"};
  return result >= 0 && result < 7 ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(NcComm *comm) { return last_error; }

NcResult ncclGetUniqueId(NcId *id) {
  NcResult code = fail_if_asked("ncclGetUniqueId", 0);
  if (code != NC_SUCCESS)
    return code;
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "/dev/shm/llmmem-fake-nccl-XXXXXX");
  int file = mkstemp(id->bytes);
  if (file < 0)
    return NC_SYSTEM_ERROR;
  close(file);
  return NC_SUCCESS;
}

/* All ranks map one file, which exists as long as one of them does. */
static NcResult open_comm(NcComm **comm, const char *path, int rank, int ranks) {
  if (ranks > MOST_RANKS)
    return NC_INVALID_ARGUMENT;
  size_t bytes = sizeof(Slot) * (size_t)ranks * (size_t)ranks;
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
    return NC_SYSTEM_ERROR;
  void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (slots == MAP_FAILED)
    return NC_SYSTEM_ERROR;
  *comm = calloc(1, sizeof **comm);
  **comm = (NcComm){.rank = rank, .ranks = ranks, .slots = slots};
  cuMemAlloc_v2(&(*comm)->buffer, BUFFER_BYTES);
  snprintf((*comm)->path, sizeof(*comm)->path, "%s", path);
  /* Nobody is lost once all have it. */
  char own = 1, all[MOST_RANKS];
  NcResult code = swap_all(*comm, &own, 0, all, 1, "ncclCommInitRank");
  unlink(path);
  return code;
}

NcResult ncclCommInitRank(NcComm **comm, int ranks, NcId id, int rank) {
  NcResult code = fail_if_asked("ncclCommInitRank", rank);
  if (code != NC_SUCCESS)
    return code;
  llmmem_fake_cuda_note("ncclCommInitRank rank %d of %d", rank, ranks);
  return open_comm(comm, id.bytes, rank, ranks);
}

NcResult ncclCommSplit(NcComm *comm, int color, int key, NcComm **split, void *config) {
  NcResult code = fail_if_asked("ncclCommSplit", comm->rank);
  if (code != NC_SUCCESS)
    return code;
  struct {
    int color, key;
  } own = {color, key}, all[MOST_RANKS];
  code = swap_all(comm, (const char *)&own, 0, (char *)all, sizeof own, "ncclCommSplit");
  if (code != NC_SUCCESS)
    return code;
  int rank = 0, ranks = 0;
  for (int other = 0; other < comm->ranks; ++other)
    if (all[other].color == color) {
      ++ranks;
      rank += all[other].key < key || (all[other].key == key && other < comm->rank);
    }
  char path[NC_ID_BYTES];
  if (snprintf(path, sizeof path, "%s.%d.%d", comm->path, ++comm->splits, color) >=
      (int)sizeof path)
    return NC_SYSTEM_ERROR;
  llmmem_fake_cuda_note("ncclCommSplit rank %d of %d", rank, ranks);
  return open_comm(split, path, rank, ranks);
}

NcResult ncclCommDestroy(NcComm *comm) {
  llmmem_fake_cuda_note("ncclCommDestroy rank %d of %d", comm->rank, comm->ranks);
  cuMemFree_v2(comm->buffer);
  munmap(comm->slots, sizeof(Slot) * (size_t)comm->ranks * (size_t)comm->ranks);
  free(comm);
  return NC_SUCCESS;
}

NcResult ncclCommAbort(NcComm *comm) { return ncclCommDestroy(comm); }

NcResult ncclCommGetAsyncError(NcComm *comm, NcResult *error) {
  *error = comm->has_failed;
  return NC_SUCCESS;
}
