/*===- DeviceRanks.h - Collectives on a device, for Collectives.c -----------===*/

#ifndef LLMMEM_LIB_RUNTIME_DEVICERANKS_H
#define LLMMEM_LIB_RUNTIME_DEVICERANKS_H

#include "Ranks.h"
#include "llmmem/Runtime/DeviceRanks.h"
#include "llmmem/Runtime/Parallel.h"

/* These are the calls of Collectives.h on addresses of the device, without workspaces. */
void llmmem_device_all_gather(DeviceRanks *self, const void *part, void *whole, int64_t count,
                              int64_t element, int64_t axes);
void llmmem_device_all_reduce(DeviceRanks *self, const void *x, void *sum, int64_t count,
                              int64_t element, int64_t axes);
void llmmem_device_reduce_scatter(DeviceRanks *self, const void *whole, void *part, int64_t count,
                                  int64_t element, int64_t axes);
void llmmem_device_broadcast(DeviceRanks *self, const void *x, void *y, int64_t count,
                             int64_t element, int64_t axes, int64_t root);
void llmmem_device_reduce(DeviceRanks *self, const void *x, void *sum, int64_t count,
                          int64_t element, int64_t axes, int64_t root);
void llmmem_device_all_to_all(DeviceRanks *self, const void *x, void *y, int64_t count,
                              int64_t element, int64_t axes);
/* Holds the positions in the group that a member sends to and receives from; -1 means none. */
typedef struct {
  int64_t to, from;
} Neighbours;

/* What is received from none is 0. */
void llmmem_device_send_receive(DeviceRanks *self, const void *x, void *y, int64_t count,
                                int64_t element, int64_t axes, Neighbours neighbours);
void llmmem_device_exchange_send(DeviceRanks *self, const void *x, int64_t count, int64_t element,
                                 int64_t axes, int64_t to);
void llmmem_device_exchange_receive(DeviceRanks *self, void *y, int64_t count, int64_t element,
                                    int64_t axes, int64_t from);
void llmmem_device_exchange_end(DeviceRanks *self, int64_t axes);

/* These are llmmem_start and llmmem_wait on a device. */
void llmmem_device_start(DeviceRanks *self, llmmem_iterations run, void *context);
void llmmem_device_wait(DeviceRanks *self);

#endif /* LLMMEM_LIB_RUNTIME_DEVICERANKS_H */
