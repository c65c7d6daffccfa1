/*===- Collectives.c - Collectives and their sums --------------------------===*/

#include "DeviceRanks.h"
#include "RankSums.h"
#include "Ranks.h"
#include <stdio.h>
#include <string.h>

static int64_t bytes_of(int64_t element) {
  static const int64_t bytes[LLMMEM_ELEMENT_TYPES] = {4, 8, 2, 4, 2, 1};
  return bytes[element];
}

/* Of no elements a pointer may be null, which neither memmove nor memset takes. */
static void copy(void *to, const void *from, int64_t bytes) {
  if (to != from && bytes > 0)
    memmove(to, from, (size_t)bytes);
}

static void clear(void *to, int64_t bytes) {
  if (bytes > 0)
    memset(to, 0, (size_t)bytes);
}

/* Splits `count` elements into pieces of whole elements, one for each member. */
static llmmem_pieces pieces_of(const Members *members, int64_t count, int64_t element) {
  int64_t most = (count + members->size - 1) / members->size;
  return (llmmem_pieces){count * bytes_of(element), most * bytes_of(element)};
}

static char *piece_of(void *whole, llmmem_pieces pieces, int64_t position) {
  int64_t begin = position * pieces.size;
  return (char *)whole + (begin < pieces.total ? begin : pieces.total);
}

void llmmem_all_gather(const void *part, void *whole, int64_t count, int64_t element,
                       int64_t axes) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_all_gather(device, part, whole, count, element, axes);
    return;
  }
  llmmem_all_gather_bytes(part, whole, count * bytes_of(element), axes);
}

void llmmem_all_gather_bytes(const void *part, void *whole, int64_t bytes, int64_t axes) {
  Members members = llmmem_members(axes);
  copy((char *)whole + members.position * bytes, part, bytes);
  if (!members.transport)
    return;
  llmmem_pieces pieces = {members.size * bytes, bytes};
  if (members.transport->gather(members.transport->state, members.group, whole, pieces))
    llmmem_ranks_fail(&members, "all_gather", pieces.total);
}

/* Writes this member's piece of the sum of all `x` to its place. It takes an all-to-all and a sum
 * in the order of the positions, because MPI's own sums have another order for each number of
 * ranks. */
static void reduce_piece(const Members *members, const char *call, const void *x,
                         llmmem_pieces pieces, void *workspace, void *sum, int64_t element) {
  if (!workspace && pieces.total > 0) {
    snprintf(members->transport->message, LLMMEM_TRANSPORT_MESSAGE,
             "the step is planned for NCCL, without a buffer for sums over %s; plan it with "
             "--collectives=mpi",
             members->transport->name);
    llmmem_ranks_fail(members, call, pieces.total);
  }
  if (members->transport->scatter(members->transport->state, members->group, x, pieces, workspace))
    llmmem_ranks_fail(members, call, pieces.total);
  int64_t own = llmmem_piece_bytes(pieces, members->position) / bytes_of(element);
  llmmem_sum_in_order(workspace, members->size, own, sum, element);
}

void llmmem_all_reduce(const void *x, void *sum, void *workspace, int64_t count, int64_t element,
                       int64_t axes) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_all_reduce(device, x, sum, count, element, axes);
    return;
  }
  Members members = llmmem_members(axes);
  if (!members.transport) {
    copy(sum, x, count * bytes_of(element));
    return;
  }
  llmmem_pieces pieces = pieces_of(&members, count, element);
  reduce_piece(&members, "all_reduce", x, pieces, workspace,
               piece_of(sum, pieces, members.position), element);
  if (members.transport->gather(members.transport->state, members.group, sum, pieces))
    llmmem_ranks_fail(&members, "all_reduce", pieces.total);
}

void llmmem_reduce_scatter(const void *whole, void *part, void *workspace, int64_t count,
                           int64_t element, int64_t axes) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_reduce_scatter(device, whole, part, count, element, axes);
    return;
  }
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  if (!members.transport) {
    copy(part, whole, bytes);
    return;
  }
  llmmem_pieces pieces = {members.size * bytes, bytes};
  reduce_piece(&members, "reduce_scatter", whole, pieces, workspace, part, element);
}

void llmmem_broadcast(const void *x, void *y, int64_t count, int64_t element, int64_t axes,
                      int64_t root) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_broadcast(device, x, y, count, element, axes, root);
    return;
  }
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  if (members.position == root || !members.transport)
    copy(y, x, bytes);
  if (members.transport && members.transport->broadcast(members.transport->state, members.group, y,
                                                        bytes, (int32_t)root))
    llmmem_ranks_fail(&members, "broadcast", bytes);
}

/* Sends to member `to`, and receives from member `from`; -1 means none. */
typedef struct {
  const void *data;
  int64_t bytes, to;
} Sent;
typedef struct {
  void *data;
  int64_t bytes, from;
} Received;

static void move_piece(const Members *members, const char *call, Sent sent, Received received) {
  if (members->transport->exchange(members->transport->state, members->group, sent.data, sent.bytes,
                                   (int32_t)sent.to, received.data, received.bytes,
                                   (int32_t)received.from))
    llmmem_ranks_fail(members, call, sent.bytes + received.bytes);
}

void llmmem_reduce(const void *x, void *sum, void *workspace, int64_t count, int64_t element,
                   int64_t axes, int64_t root) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_reduce(device, x, sum, count, element, axes, root);
    return;
  }
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  if (!members.transport) {
    copy(sum, x, bytes);
    return;
  }
  llmmem_pieces pieces = pieces_of(&members, count, element);
  char *own = piece_of(sum, pieces, members.position);
  int64_t own_bytes = llmmem_piece_bytes(pieces, members.position);
  reduce_piece(&members, "reduce", x, pieces, workspace, own, element);
  if (members.position != root) {
    move_piece(&members, "reduce", (Sent){own, own_bytes, root}, (Received){NULL, 0, -1});
    clear(sum, bytes);
    return;
  }
  for (int64_t from = 0; from < members.size; ++from)
    if (from != root)
      move_piece(&members, "reduce", (Sent){NULL, 0, -1},
                 (Received){piece_of(sum, pieces, from), llmmem_piece_bytes(pieces, from), from});
}

void llmmem_all_to_all(const void *x, void *y, int64_t count, int64_t element, int64_t axes) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_all_to_all(device, x, y, count, element, axes);
    return;
  }
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  llmmem_pieces pieces = {members.size * bytes, bytes};
  if (!members.transport)
    copy(y, x, bytes);
  else if (members.transport->scatter(members.transport->state, members.group, x, pieces, y))
    llmmem_ranks_fail(&members, "all_to_all", pieces.total);
}

/* Returns the position `shift` from this one, or -1. */
static int64_t neighbour(const Members *members, int64_t shift, int64_t wraps) {
  int64_t n = members->size, position = members->position + shift;
  if (wraps)
    return (position % n + n) % n;
  return position >= 0 && position < n ? position : -1;
}

void llmmem_send_receive(const void *x, void *y, int64_t count, int64_t element, int64_t axes,
                         int64_t shift, int64_t wraps) {
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  Neighbours near = {neighbour(&members, shift, wraps), neighbour(&members, -shift, wraps)};
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_send_receive(device, x, y, count, element, axes, near);
    return;
  }
  if (near.from < 0)
    clear(y, bytes);
  else if (near.from == members.position)
    copy(y, x, bytes);
  if (members.transport && near.to != members.position)
    move_piece(&members, "send_receive", (Sent){x, near.to < 0 ? 0 : bytes, near.to},
               (Received){y, near.from < 0 ? 0 : bytes, near.from});
}

/* A step of one rank has no stages: an exchange is between different positions. */
void llmmem_exchange_send(const void *x, int64_t count, int64_t element, int64_t axes, int64_t to) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_exchange_send(device, x, count, element, axes, to);
    return;
  }
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  if (members.transport &&
      members.transport->start_send(members.transport->state, members.group, x, bytes, (int32_t)to))
    llmmem_ranks_fail(&members, "exchange", bytes);
}

void llmmem_exchange_receive(void *y, int64_t count, int64_t element, int64_t axes, int64_t from) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_exchange_receive(device, y, count, element, axes, from);
    return;
  }
  Members members = llmmem_members(axes);
  int64_t bytes = count * bytes_of(element);
  if (members.transport && members.transport->start_receive(members.transport->state, members.group,
                                                            y, bytes, (int32_t)from))
    llmmem_ranks_fail(&members, "exchange", bytes);
}

void llmmem_exchange_end(int64_t axes) {
  DeviceRanks *device = llmmem_device_of_job();
  if (device) {
    llmmem_device_exchange_end(device, axes);
    return;
  }
  Members members = llmmem_members(axes);
  if (members.transport && members.transport->wait_all(members.transport->state, members.group))
    llmmem_ranks_fail(&members, "exchange", 0);
}
