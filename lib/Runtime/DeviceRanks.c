/*===- DeviceRanks.c - Collectives of GPUs, by NCCL --------------------------===*/

#include "DeviceRanks.h"
#include "CudaRun.h"
#include "Nccl.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct DeviceRanks {
  Nccl nccl;
  llmmem_cuda *run; /* Null means addresses of the host. */
  char name[64];
  int64_t bytes;
  bool has_exchange; /* Its group is open. */
  int64_t started, waited;
  NcComm *world;
  NcComm *groups[1 << LLMMEM_MOST_AXES]; /* Indexed by the bits of the axes; null means one rank. */
};

static int64_t bytes_of(int64_t element) {
  static const int64_t bytes[LLMMEM_ELEMENT_TYPES] = {4, 8, 2, 4, 2, 1};
  return bytes[element];
}

static int type_of(int64_t element) {
  static const int types[LLMMEM_ELEMENT_TYPES] = {NC_TYPE_F32, NC_TYPE_F64, NC_TYPE_BF16,
                                                  NC_TYPE_I32, NC_TYPE_F16, NC_TYPE_U8};
  return types[element];
}

/*===----------------------------------------------------------------------===*/
/* A call                                                                     */
/*===----------------------------------------------------------------------===*/

typedef struct {
  DeviceRanks *self;
  bool is_recorded; /* The step's host code must launch it now. */
  NcComm *comm;     /* Null means that nothing is sent. */
  void *stream;
  Members members;
  const char *name;
  int64_t bytes; /* Bytes that this rank sends or receives, for messages. */
  int type;
} DeviceCall;

/* Returns whether the step's host code must launch now. It also runs to choose algorithms, and
 * after a failure. */
static bool is_recorded(const DeviceRanks *self) { return !self->run || launches(self->run); }

static void wait_for_all_started(DeviceRanks *self) {
  if (self->run && self->started > self->waited && !self->run->on_link)
    llmmem_cuda_join(self->run, LINK_OF_RANKS, self->started - 1);
}

static DeviceCall begin_call(DeviceRanks *self, const char *name, int64_t count, int64_t element,
                             int64_t axes) {
  if (!is_recorded(self))
    return (DeviceCall){.self = self};
  wait_for_all_started(self);
  return (DeviceCall){.self = self,
                      .is_recorded = true,
                      .comm = self->groups[axes & ((1 << LLMMEM_MOST_AXES) - 1)],
                      .stream = self->run ? self->run->stream : NULL,
                      .members = llmmem_members(axes),
                      .name = name,
                      .bytes = count * bytes_of(element),
                      .type = type_of(element)};
}

/* Ends the job where NCCL has not done `what`. */
static void check_call(const DeviceCall *call, NcResult result, const char *what) {
  if (result == NC_SUCCESS)
    return;
  const Nccl *nccl = &call->self->nccl;
  const char *more = nccl->last_error(call->comm);
  fprintf(stderr, "llmmem: rank %lld: %s of %lld bytes over %d ranks failed: %s: %s%s%s\n",
          (long long)llmmem_rank(), call->name, (long long)call->bytes, call->members.size, what,
          nccl->error_text(result), more && *more ? ": " : "", more ? more : "");
  llmmem_ranks_abort(1);
  exit(1);
}

/* The run keeps failures of the driver, and its next check finds them. */
static void copy(const DeviceCall *call, const void *from, void *to, int64_t bytes) {
  if (from == to || bytes == 0)
    return;
  if (call->self->run)
    llmmem_cuda_copy(call->self->run, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes);
  else
    memmove(to, from, (size_t)bytes);
}

static void clear(const DeviceCall *call, void *to, int64_t bytes) {
  if (bytes == 0)
    return;
  if (call->self->run)
    llmmem_cuda_fill(call->self->run, (uint64_t)(uintptr_t)to, 0, bytes);
  else
    memset(to, 0, (size_t)bytes);
}

/* Returns whether NCCL has nothing to do: the call must not launch now, or is over this rank alone,
 * whose result is a copy. */
static bool is_done_alone(const DeviceCall *call, const void *from, void *to) {
  if (call->is_recorded && !call->comm)
    copy(call, from, to, call->bytes);
  return !call->is_recorded || !call->comm;
}

/*===----------------------------------------------------------------------===*/
/* Collectives                                                                */
/*===----------------------------------------------------------------------===*/

void llmmem_device_all_gather(DeviceRanks *self, const void *part, void *whole, int64_t count,
                              int64_t element, int64_t axes) {
  DeviceCall call = begin_call(self, "all_gather", count, element, axes);
  if (is_done_alone(&call, part, whole))
    return;
  check_call(&call,
             self->nccl.all_gather(part, whole, (size_t)count, call.type, call.comm, call.stream),
             "ncclAllGather");
}

void llmmem_device_all_reduce(DeviceRanks *self, const void *x, void *sum, int64_t count,
                              int64_t element, int64_t axes) {
  DeviceCall call = begin_call(self, "all_reduce", count, element, axes);
  if (is_done_alone(&call, x, sum))
    return;
  check_call(
      &call,
      self->nccl.all_reduce(x, sum, (size_t)count, call.type, NC_SUM, call.comm, call.stream),
      "ncclAllReduce");
}

void llmmem_device_reduce_scatter(DeviceRanks *self, const void *whole, void *part, int64_t count,
                                  int64_t element, int64_t axes) {
  DeviceCall call = begin_call(self, "reduce_scatter", count, element, axes);
  if (is_done_alone(&call, whole, part))
    return;
  check_call(&call,
             self->nccl.reduce_scatter(whole, part, (size_t)count, call.type, NC_SUM, call.comm,
                                       call.stream),
             "ncclReduceScatter");
}

void llmmem_device_broadcast(DeviceRanks *self, const void *x, void *y, int64_t count,
                             int64_t element, int64_t axes, int64_t root) {
  DeviceCall call = begin_call(self, "broadcast", count, element, axes);
  if (is_done_alone(&call, x, y))
    return;
  check_call(
      &call,
      self->nccl.broadcast(x, y, (size_t)count, call.type, (int)root, call.comm, call.stream),
      "ncclBroadcast");
}

void llmmem_device_reduce(DeviceRanks *self, const void *x, void *sum, int64_t count,
                          int64_t element, int64_t axes, int64_t root) {
  DeviceCall call = begin_call(self, "reduce", count, element, axes);
  if (is_done_alone(&call, x, sum))
    return;
  check_call(&call,
             self->nccl.reduce(x, sum, (size_t)count, call.type, NC_SUM, (int)root, call.comm,
                               call.stream),
             "ncclReduce");
  /* NCCL writes the sum at the root alone. */
  if (call.members.position != root)
    clear(&call, sum, call.bytes);
}

/* Messages of one group start together, because an order of single ones could wait for ever. */
static void begin_messages(const DeviceCall *call) {
  check_call(call, call->self->nccl.group_begin(), "ncclGroupStart");
}

static void end_messages(const DeviceCall *call) {
  check_call(call, call->self->nccl.group_end(), "ncclGroupEnd");
}

static void send(const DeviceCall *call, const void *x, int64_t count, int64_t to) {
  check_call(call,
             call->self->nccl.send(x, (size_t)count, call->type, (int)to, call->comm, call->stream),
             "ncclSend");
}

static void receive(const DeviceCall *call, void *y, int64_t count, int64_t from) {
  check_call(
      call,
      call->self->nccl.receive(y, (size_t)count, call->type, (int)from, call->comm, call->stream),
      "ncclRecv");
}

void llmmem_device_all_to_all(DeviceRanks *self, const void *x, void *y, int64_t count,
                              int64_t element, int64_t axes) {
  DeviceCall call = begin_call(self, "all_to_all", count, element, axes);
  if (is_done_alone(&call, x, y))
    return;
  begin_messages(&call);
  for (int position = 0; position < call.members.size; ++position) {
    send(&call, (const char *)x + position * call.bytes, count, position);
    receive(&call, (char *)y + position * call.bytes, count, position);
  }
  end_messages(&call);
}

void llmmem_device_send_receive(DeviceRanks *self, const void *x, void *y, int64_t count,
                                int64_t element, int64_t axes, Neighbours neighbours) {
  DeviceCall call = begin_call(self, "send_receive", count, element, axes);
  if (!call.is_recorded)
    return;
  if (neighbours.from < 0)
    clear(&call, y, call.bytes);
  if (neighbours.from == call.members.position) {
    copy(&call, x, y, call.bytes);
    return;
  }
  if (!call.comm)
    return;
  begin_messages(&call);
  if (neighbours.to >= 0)
    send(&call, x, count, neighbours.to);
  if (neighbours.from >= 0)
    receive(&call, y, count, neighbours.from);
  end_messages(&call);
}

/*===----------------------------------------------------------------------===*/
/* Exchanges: the group is open from the first message to the end             */
/*===----------------------------------------------------------------------===*/

static DeviceCall begin_message(DeviceRanks *self, int64_t count, int64_t element, int64_t axes) {
  DeviceCall call = begin_call(self, "exchange", count, element, axes);
  if (!self->has_exchange)
    begin_messages(&call);
  self->has_exchange = true;
  return call;
}

void llmmem_device_exchange_send(DeviceRanks *self, const void *x, int64_t count, int64_t element,
                                 int64_t axes, int64_t to) {
  if (!is_recorded(self))
    return;
  DeviceCall call = begin_message(self, count, element, axes);
  send(&call, x, count, to);
}

void llmmem_device_exchange_receive(DeviceRanks *self, void *y, int64_t count, int64_t element,
                                    int64_t axes, int64_t from) {
  if (!is_recorded(self))
    return;
  DeviceCall call = begin_message(self, count, element, axes);
  receive(&call, y, count, from);
}

void llmmem_device_exchange_end(DeviceRanks *self, int64_t axes) {
  if (!is_recorded(self) || !self->has_exchange)
    return;
  self->has_exchange = false;
  DeviceCall call = begin_call(self, "exchange", 0, LLMMEM_ELEMENT_F32, axes);
  end_messages(&call);
}

/*===----------------------------------------------------------------------===*/
/* Starts and waits: the second stream                                        */
/*===----------------------------------------------------------------------===*/

void llmmem_device_start(DeviceRanks *self, llmmem_iterations run, void *context) {
  if (self->run)
    llmmem_cuda_fork(self->run, LINK_OF_RANKS);
  run(context, 0, 1);
  if (self->run)
    llmmem_cuda_end_fork(self->run, LINK_OF_RANKS, self->started);
  ++self->started;
}

void llmmem_device_wait(DeviceRanks *self) {
  if (self->waited == self->started) {
    fprintf(stderr, "llmmem: rank %lld: waits for a call that nobody started\n",
            (long long)llmmem_rank());
    llmmem_ranks_abort(1);
    exit(1);
  }
  if (self->run)
    llmmem_cuda_join(self->run, LINK_OF_RANKS, self->waited);
  ++self->waited;
}

/*===----------------------------------------------------------------------===*/
/* Opening                                                                    */
/*===----------------------------------------------------------------------===*/

/* Returns 0 on all ranks if all can go on, and otherwise writes the reason on each. `own` is this
 * rank's reason, or empty. */
static int agree(char *own, char *message, size_t size) {
  int64_t all = (1 << LLMMEM_MOST_AXES) - 1, ranks = llmmem_ranks();
  int32_t failed = own[0] != '\0';
  int32_t *each = calloc((size_t)ranks, sizeof *each);
  if (!each)
    abort();
  llmmem_all_gather_bytes(&failed, each, sizeof failed, all);
  int64_t first = 0;
  while (first < ranks && !each[first])
    ++first;
  free(each);
  if (first == ranks)
    return 0;
  llmmem_ranks_fail_together();
  if (failed)
    snprintf(message, size, "%s", own);
  else
    snprintf(message, size, "rank %lld has failed to open NCCL", (long long)first);
  return 1;
}

static int check_open(DeviceRanks *self, NcResult result, const char *what, char *message,
                      size_t size) {
  if (result == NC_SUCCESS)
    return 0;
  const char *more = self->nccl.last_error(NULL);
  snprintf(message, size, "%s: %s%s%s", what, self->nccl.error_text(result),
           more && *more ? ": " : "", more ? more : "");
  return 1;
}

/* All ranks must have one version. NCCL does not report where they differ. */
static int compare_versions(int version, char *message, size_t size) {
  int64_t ranks = llmmem_ranks();
  int32_t own = version, *each = calloc((size_t)ranks, sizeof *each);
  if (!each)
    abort();
  llmmem_all_gather_bytes(&own, each, sizeof own, (1 << LLMMEM_MOST_AXES) - 1);
  for (int64_t rank = 1; rank < ranks && !message[0]; ++rank)
    if (each[rank] != each[0])
      snprintf(message, size,
               "rank %lld has NCCL %d.%d.%d and rank 0 %d.%d.%d; expected one version",
               (long long)rank, each[rank] / 10000, each[rank] / 100 % 100, each[rank] % 100,
               each[0] / 10000, each[0] / 100 % 100, each[0] % 100);
  free(each);
  if (message[0])
    llmmem_ranks_fail_together();
  return message[0] != '\0';
}

/* Opens the communicator of all ranks, by an id that rank 0 makes. */
static int open_world(DeviceRanks *self, char *message, size_t size) {
  NcId id;
  memset(&id, 0, sizeof id);
  char own[512] = "";
  if (llmmem_rank() == 0)
    check_open(self, self->nccl.make_id(&id), "ncclGetUniqueId", own, sizeof own);
  if (agree(own, message, size))
    return 1;
  llmmem_broadcast_bytes(&id, sizeof id, (1 << LLMMEM_MOST_AXES) - 1, 0);
  check_open(self, self->nccl.open(&self->world, (int)llmmem_ranks(), id, (int)llmmem_rank()),
             "ncclCommInitRank", own, sizeof own);
  return agree(own, message, size);
}

/* Opens those of each set of axes. The set of all that have several ranks is the world. */
static int open_groups(DeviceRanks *self, char *message, size_t size) {
  char own[512] = "";
  int64_t ranks = llmmem_ranks();
  for (int64_t bits = 1; bits < (1 << LLMMEM_MOST_AXES) && !own[0]; ++bits) {
    GroupOfAxes group = llmmem_group_of_axes(bits);
    if (!group.exists || (group.size == 1 && ranks > 1))
      continue;
    if (group.size == ranks)
      self->groups[bits] = self->world;
    else
      check_open(
          self,
          self->nccl.split(self->world, group.color, group.position, &self->groups[bits], NULL),
          "ncclCommSplit", own, sizeof own);
  }
  return agree(own, message, size);
}

static int64_t free_bytes(llmmem_cuda *run) {
  llmmem_cuda_facts facts;
  return run && !llmmem_cuda_describe(run, &facts) ? facts.free_bytes : 0;
}

int llmmem_ranks_use_device(llmmem_cuda *run, const char *library, char *message,
                            int64_t message_bytes) {
  size_t size = (size_t)message_bytes;
  message[0] = '\0';
  DeviceRanks **slot = llmmem_device_ranks();
  DeviceRanks *self = slot ? calloc(1, sizeof *self) : NULL;
  if (!self) {
    snprintf(message, size, slot ? "out of memory" : "no job to hand to NCCL");
    return 1;
  }
  self->run = run;
  char own[1024] = "";
  int version = 0;
  int64_t free_before = free_bytes(run);
  if (library)
    llmmem_nccl_open(&self->nccl, library, &version, own, sizeof own);
  else if (llmmem_ranks() > 1)
    snprintf(own, sizeof own, "several ranks need NCCL");
  if (!own[0] && run && llmmem_cuda_open_link(run, LINK_OF_RANKS))
    snprintf(own, sizeof own, "%s", llmmem_cuda_message(run));
  if (agree(own, message, size) ||
      (library && (compare_versions(version, message, size) || open_world(self, message, size) ||
                   open_groups(self, message, size)))) {
    free(self);
    return 1;
  }
  self->bytes = free_before - free_bytes(run);
  if (library)
    snprintf(self->name, sizeof self->name, "NCCL %d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
  *slot = self;
  return 0;
}

static DeviceRanks *of_job(void) {
  DeviceRanks **slot = llmmem_device_ranks();
  return slot ? *slot : NULL;
}

const char *llmmem_device_ranks_name(void) { return of_job() ? of_job()->name : ""; }

int64_t llmmem_device_ranks_bytes(void) { return of_job() ? of_job()->bytes : 0; }

/* Calls `close` for each communicator, the world last. */
static void for_each_communicator(DeviceRanks *self, NcResult (*close)(NcComm *)) {
  for (int64_t bits = 1; bits < (1 << LLMMEM_MOST_AXES); ++bits)
    if (self->groups[bits] && self->groups[bits] != self->world)
      close(self->groups[bits]);
  if (self->world)
    close(self->world);
}

void llmmem_ranks_leave_device(int failed) {
  DeviceRanks **slot = llmmem_device_ranks();
  if (!slot || !*slot)
    return;
  /* NCCL closes a communicator when all ranks do; a single rank aborts it. */
  for_each_communicator(*slot, failed ? (*slot)->nccl.abort : (*slot)->nccl.close);
  free(*slot);
  *slot = NULL;
}
