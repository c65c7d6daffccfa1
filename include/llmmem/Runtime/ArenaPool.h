/*===- ArenaPool.h - A device's memory, at the places of a plan -------------===*\
|*
|* Programs that ask for device memory piece by piece, as PyTorch does, get the places that a plan
|* has chosen: a plan is a list of allocations in the order of its steps, each with a size and an
|* offset in one arena. Between `begin` and `end` an allocation on the plan's stream is served from
|* the first place of its size that its step or one of the next few steps has.
|*
|* No order of calls gives two allocations the same bytes. An allocation that the plan does not
|* know, or whose place is still taken, gets memory elsewhere and is counted. Memory elsewhere is
|* kept when it is freed, for the next allocation of its size on its stream, and returned to the
|* driver before memory runs out.
|*
|* Sizes are rounded up to multiples of 512 bytes. While a stream is captured into a graph, memory
|* elsewhere stays the graph's: it is given to nobody else until the pool is closed.
|*
|* All functions may be called from several threads. Nothing here needs the CUDA toolkit: the
|* driver is opened by its name.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_ARENAPOOL_H
#define LLMMEM_RUNTIME_ARENAPOOL_H

#include "llmmem/Runtime/ExternC.h"
#include <stddef.h>
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

enum { LLMMEM_POOL_ROUNDING = 512 };

typedef struct llmmem_pool llmmem_pool;

/* All in bytes, or numbers of allocations. The struct begins with its own size, so that callers of
 * earlier versions get the members that they know. */
typedef struct {
  size_t size;
  int64_t allocated, most_allocated; /* Held by the program. */
  int64_t reserved, most_reserved;   /* Taken from the driver. */
  int64_t arenas;                    /* Of the reserved bytes, those of plans. */
  int64_t planned;                   /* Allocations at the places of a plan. */
  int64_t unknown;        /* Between begin and end, those that the plan had no place for, */
  int64_t taken;          /* those whose place had not been freed, */
  int64_t most_elsewhere; /* and the most bytes that both held at a time. */
  int64_t unused;         /* Places of plans that ended, which nothing asked for. */
} llmmem_pool_usage;

/* Opens the driver `library` ("libcuda.so.1") and the device's primary context. Returns NULL with
 * the reason in `message`. */
llmmem_pool *llmmem_pool_open(const char *library, int device, char *message, size_t size);
/* Returns everything to the driver. No allocation may be in use. */
void llmmem_pool_close(llmmem_pool *pool);

/* Describes a plan: `count` allocations in the order of their steps, which do not descend, with the
 * size and the offset in the arena of each, multiples of the rounding. */
typedef struct {
  int64_t arena, count;
  const int32_t *steps;
  const int64_t *sizes, *offsets;
} llmmem_pool_plan;

/* Adds a plan, whose arrays are copied, and takes its arena from the driver. Returns its number, or
 * -1 with the reason in `message`: places outside of the arena, or no memory. */
int llmmem_pool_add_plan(llmmem_pool *pool, const llmmem_pool_plan *plan, char *message,
                         size_t size);
/* Returns the plan's arena to the driver; returns 1, and does nothing, while its memory is in use.
 */
int llmmem_pool_remove_plan(llmmem_pool *pool, int plan);

/* Serves the plan's allocations from number `first` up to `end` on `stream` from here on, in place
 * of those of a plan that had begun. Returns 1 for what is no plan or no range of it. */
int llmmem_pool_begin(llmmem_pool *pool, int plan, int64_t first, int64_t end, void *stream);
void llmmem_pool_end(llmmem_pool *pool);

/* Returns the address of `bytes`, which kernels of `stream` use; 0 where no memory is left. */
uint64_t llmmem_pool_allocate(llmmem_pool *pool, int64_t bytes, void *stream);
/* Frees what was allocated; an address that was not is left alone. Its memory may be given to what
 * is launched on its stream afterwards. */
void llmmem_pool_free(llmmem_pool *pool, uint64_t address);

/* Writes `usage->size` bytes of it. */
void llmmem_pool_get_usage(llmmem_pool *pool, llmmem_pool_usage *usage);
/* Lets the counts and the most bytes begin anew. */
void llmmem_pool_reset_usage(llmmem_pool *pool);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_ARENAPOOL_H */
