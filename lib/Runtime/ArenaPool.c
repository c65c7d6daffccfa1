/*===- ArenaPool.c - A device's memory, at the places of a plan -------------===*/

#include "llmmem/Runtime/ArenaPool.h"
#include "CudaDriver.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many steps after the last one served a place may have. Kernels run in the plan's order, but
 * not every one allocates all that was planned. */
enum { STEPS_AHEAD = 4, BUCKETS = 4096, CAPTURE_RELAXED = 2 };

/* Describes an allocation of a plan. is_used: it was served since the plan began. */
typedef struct {
  int64_t size, offset;
  int32_t step;
  int is_used;
} Place;

/* Describes bytes of the arena that are in use. */
typedef struct {
  int64_t offset, size;
} Live;

typedef struct {
  Place *places;
  Live *live;
  int64_t count, live_count, arena;
  CUdeviceptr begin; /* 0 for a plan that was removed. */
} Plan;

/* Describes memory elsewhere. It is in the bucket of its address while it is in use, and in that of
 * its size while it is kept. belongs_to_graph: a captured graph may use it at any time. */
typedef struct Block {
  struct Block *next;
  CUdeviceptr address;
  int64_t size;
  void *stream;
  int is_unplanned, belongs_to_graph;
} Block;

/* Describes what is served: a range of the places of the plan that has begun (-1: none), on a
 * stream. */
typedef struct {
  int plan;
  int64_t first, end;
  void *stream;
} Served;

/* Holds memory elsewhere: in use by address, kept by size, and that of graphs. unplanned: bytes in
 * use that a plan should have had a place for. */
typedef struct {
  Block *used[BUCKETS], *kept[BUCKETS], *graphs;
  int64_t unplanned;
} Elsewhere;

struct llmmem_pool {
  CudaDriver driver;
  CUdevice device;
  CUcontext context;
  CUresult (*is_capturing)(CUstream stream, int *status);
  CUresult (*exchange_capture_mode)(int *mode);
  pthread_mutex_t mutex;
  Plan *plans;
  int plan_count;
  Served served;
  Elsewhere other;
  llmmem_pool_usage usage;
};

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t rounded(int64_t bytes) {
  return (bytes + LLMMEM_POOL_ROUNDING - 1) / LLMMEM_POOL_ROUNDING * LLMMEM_POOL_ROUNDING;
}

static Block **bucket(Block **buckets, uint64_t key) {
  return &buckets[(key / LLMMEM_POOL_ROUNDING * 0x9e3779b97f4a7c15u) >> 52];
}

/*===----------------------------------------------------------------------===*\
|* The driver
\*===----------------------------------------------------------------------===*/

llmmem_pool *llmmem_pool_open(const char *library, int device, char *message, size_t size) {
  llmmem_pool *pool = calloc(1, sizeof *pool);
  if (!pool) {
    snprintf(message, size, "not enough memory to open the CUDA driver");
    return NULL;
  }
  if (llmmem_cuda_driver_open(&pool->driver, library, message, size)) {
    free(pool);
    return NULL;
  }
  CudaDriver *driver = &pool->driver;
  if (driver->init(0) || driver->device_get(&pool->device, device) ||
      driver->context_retain(&pool->context, pool->device)) {
    snprintf(message, size, "the CUDA driver '%s' does not open device %d", library, device);
    llmmem_cuda_driver_close(driver);
    free(pool);
    return NULL;
  }
  /* Drivers since CUDA 10.1 have both; without them no stream counts as captured. */
  *(void **)&pool->is_capturing = dlsym(driver->library, "cuStreamIsCapturing");
  *(void **)&pool->exchange_capture_mode =
      dlsym(driver->library, "cuThreadExchangeStreamCaptureMode");
  pthread_mutex_init(&pool->mutex, NULL);
  pool->served.plan = -1;
  return pool;
}

static int is_captured(const llmmem_pool *pool, void *stream) {
  int status = 0;
  return pool->is_capturing && !pool->is_capturing(stream, &status) && status;
}

/* Asks the driver, also while this thread captures a stream, which may otherwise not allocate. */
static CUdeviceptr ask_driver(llmmem_pool *pool, int64_t bytes) {
  CUdeviceptr address = 0;
  int mode = CAPTURE_RELAXED;
  if (pool->exchange_capture_mode)
    pool->exchange_capture_mode(&mode);
  if (pool->driver.context_set(pool->context) || pool->driver.memory_alloc(&address, (size_t)bytes))
    address = 0;
  if (pool->exchange_capture_mode)
    pool->exchange_capture_mode(&mode);
  if (address) {
    pool->usage.reserved += bytes;
    pool->usage.most_reserved = larger(pool->usage.most_reserved, pool->usage.reserved);
  }
  return address;
}

static void return_to_driver(llmmem_pool *pool, CUdeviceptr address, int64_t bytes) {
  pool->driver.context_set(pool->context);
  pool->driver.memory_free(address);
  pool->usage.reserved -= bytes;
}

static void return_list(llmmem_pool *pool, Block **list) {
  while (*list) {
    Block *block = *list;
    *list = block->next;
    return_to_driver(pool, block->address, block->size);
    free(block);
  }
}

static void return_kept(llmmem_pool *pool) {
  for (int k = 0; k < BUCKETS; ++k)
    return_list(pool, &pool->other.kept[k]);
}

void llmmem_pool_close(llmmem_pool *pool) {
  if (!pool)
    return;
  return_kept(pool);
  for (int k = 0; k < BUCKETS; ++k)
    return_list(pool, &pool->other.used[k]);
  return_list(pool, &pool->other.graphs);
  for (int k = 0; k < pool->plan_count; ++k) {
    Plan *plan = &pool->plans[k];
    if (plan->begin)
      return_to_driver(pool, plan->begin, plan->arena);
    free(plan->places);
    free(plan->live);
  }
  free(pool->plans);
  pool->driver.context_release(pool->device);
  llmmem_cuda_driver_close(&pool->driver);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

/*===----------------------------------------------------------------------===*\
|* Plans
\*===----------------------------------------------------------------------===*/

/* Returns the first number of an allocation that no arena can serve, or the plan's count. */
static int64_t find_fault(const llmmem_pool_plan *plan) {
  for (int64_t k = 0; k < plan->count; ++k)
    if (plan->sizes[k] <= 0 || plan->sizes[k] % LLMMEM_POOL_ROUNDING || plan->offsets[k] < 0 ||
        plan->offsets[k] % LLMMEM_POOL_ROUNDING || plan->offsets[k] > plan->arena ||
        plan->sizes[k] > plan->arena - plan->offsets[k] ||
        (k && plan->steps[k] < plan->steps[k - 1]))
      return k;
  return plan->count;
}

static int fill_plan(Plan *plan, const llmmem_pool_plan *given) {
  *plan = (Plan){.count = given->count, .arena = given->arena};
  plan->places = calloc((size_t)given->count + 1, sizeof *plan->places);
  plan->live = calloc((size_t)given->count + 1, sizeof *plan->live);
  if (!plan->places || !plan->live)
    return 1;
  for (int64_t k = 0; k < given->count; ++k)
    plan->places[k] = (Place){given->sizes[k], given->offsets[k], given->steps[k], 0};
  return 0;
}

/* Returns the plan's number, or -1 where the host or the device has no memory for it. */
static int add_plan(llmmem_pool *pool, const llmmem_pool_plan *given) {
  Plan *plans = realloc(pool->plans, ((size_t)pool->plan_count + 1) * sizeof *plans);
  if (!plans)
    return -1;
  pool->plans = plans;
  Plan *plan = &plans[pool->plan_count];
  if (!fill_plan(plan, given)) {
    plan->begin = ask_driver(pool, plan->arena);
    if (!plan->begin) {
      return_kept(pool);
      plan->begin = ask_driver(pool, plan->arena);
    }
  }
  if (!plan->begin) {
    free(plan->places);
    free(plan->live);
    return -1;
  }
  pool->usage.arenas += plan->arena;
  return pool->plan_count++;
}

int llmmem_pool_add_plan(llmmem_pool *pool, const llmmem_pool_plan *plan, char *message,
                         size_t size) {
  int64_t fault = find_fault(plan);
  if (plan->arena <= 0 || fault < plan->count) {
    snprintf(
        message, size,
        "allocation %lld of the plan has no place in an arena of %lld bytes: sizes and offsets "
        "are multiples of %d, and steps do not descend",
        (long long)fault, (long long)plan->arena, LLMMEM_POOL_ROUNDING);
    return -1;
  }
  pthread_mutex_lock(&pool->mutex);
  int number = add_plan(pool, plan);
  pthread_mutex_unlock(&pool->mutex);
  if (number < 0)
    snprintf(message, size, "the device has no %lld bytes for the plan's arena",
             (long long)plan->arena);
  return number;
}

static void end_plan(llmmem_pool *pool) {
  if (pool->served.plan < 0)
    return;
  Plan *plan = &pool->plans[pool->served.plan];
  for (int64_t k = pool->served.first; k < pool->served.end; ++k)
    pool->usage.unused += !plan->places[k].is_used;
  pool->served.plan = -1;
}

int llmmem_pool_remove_plan(llmmem_pool *pool, int number) {
  pthread_mutex_lock(&pool->mutex);
  int is_plan = number >= 0 && number < pool->plan_count && pool->plans[number].begin;
  int failed = !is_plan || pool->plans[number].live_count > 0;
  if (!failed) {
    Plan *plan = &pool->plans[number];
    if (pool->served.plan == number)
      end_plan(pool);
    return_to_driver(pool, plan->begin, plan->arena);
    pool->usage.arenas -= plan->arena;
    free(plan->places);
    free(plan->live);
    *plan = (Plan){0};
  }
  pthread_mutex_unlock(&pool->mutex);
  return failed;
}

int llmmem_pool_begin(llmmem_pool *pool, int number, int64_t first, int64_t end, void *stream) {
  pthread_mutex_lock(&pool->mutex);
  end_plan(pool);
  int failed = number < 0 || number >= pool->plan_count || !pool->plans[number].begin ||
               first < 0 || first > end || end > pool->plans[number].count;
  if (!failed) {
    pool->served.plan = number;
    pool->served.first = first;
    pool->served.end = end;
    pool->served.stream = stream;
    for (int64_t k = first; k < end; ++k)
      pool->plans[number].places[k].is_used = 0;
  }
  pthread_mutex_unlock(&pool->mutex);
  return failed;
}

void llmmem_pool_end(llmmem_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  end_plan(pool);
  pthread_mutex_unlock(&pool->mutex);
}

static int is_taken(const Plan *plan, const Place *place) {
  for (int64_t k = 0; k < plan->live_count; ++k)
    if (plan->live[k].offset < place->offset + place->size &&
        place->offset < plan->live[k].offset + plan->live[k].size)
      return 1;
  return 0;
}

/* Returns the place's number, or -1. Once a step is served, no earlier one is asked for again. */
static int64_t find_place(llmmem_pool *pool, int64_t size) {
  Plan *plan = &pool->plans[pool->served.plan];
  while (pool->served.first < pool->served.end && plan->places[pool->served.first].is_used)
    ++pool->served.first;
  if (pool->served.first == pool->served.end)
    return -1;
  int32_t last = plan->places[pool->served.first].step + STEPS_AHEAD;
  for (int64_t k = pool->served.first; k < pool->served.end && plan->places[k].step <= last; ++k) {
    if (plan->places[k].is_used || plan->places[k].size != size)
      continue;
    for (; plan->places[pool->served.first].step < plan->places[k].step; ++pool->served.first)
      pool->usage.unused += !plan->places[pool->served.first].is_used;
    return k;
  }
  return -1;
}

/* Returns the address of the plan's next place of that size, or 0. */
static CUdeviceptr serve(llmmem_pool *pool, int64_t size) {
  int64_t number = find_place(pool, size);
  if (number < 0) {
    ++pool->usage.unknown;
    return 0;
  }
  Plan *plan = &pool->plans[pool->served.plan];
  Place *place = &plan->places[number];
  place->is_used = 1;
  /* Somebody holds it longer than was planned. */
  if (is_taken(plan, place)) {
    ++pool->usage.taken;
    return 0;
  }
  plan->live[plan->live_count++] = (Live){place->offset, size};
  ++pool->usage.planned;
  return plan->begin + (CUdeviceptr)place->offset;
}

/*===----------------------------------------------------------------------===*\
|* Memory elsewhere
\*===----------------------------------------------------------------------===*/

static Block *take_kept(llmmem_pool *pool, int64_t size, void *stream) {
  for (Block **link = bucket(pool->other.kept, (uint64_t)size); *link; link = &(*link)->next) {
    Block *block = *link;
    if (block->size == size && block->stream == stream) {
      *link = block->next;
      return block;
    }
  }
  return NULL;
}

static Block *make_block(llmmem_pool *pool, int64_t size, void *stream, int belongs_to_graph) {
  Block *block = calloc(1, sizeof *block);
  if (!block)
    return NULL;
  block->address = ask_driver(pool, size);
  if (!block->address && !belongs_to_graph) {
    return_kept(pool);
    block->address = ask_driver(pool, size);
  }
  if (!block->address) {
    free(block);
    return NULL;
  }
  block->size = size;
  block->stream = stream;
  block->belongs_to_graph = belongs_to_graph;
  return block;
}

static CUdeviceptr allocate_elsewhere(llmmem_pool *pool, int64_t size, void *stream,
                                      int is_unplanned) {
  int belongs_to_graph = is_captured(pool, stream);
  Block *block = belongs_to_graph ? NULL : take_kept(pool, size, stream);
  if (!block)
    block = make_block(pool, size, stream, belongs_to_graph);
  if (!block)
    return 0;
  block->is_unplanned = is_unplanned;
  if (is_unplanned) {
    pool->other.unplanned += size;
    pool->usage.most_elsewhere = larger(pool->usage.most_elsewhere, pool->other.unplanned);
  }
  Block **list = bucket(pool->other.used, block->address);
  block->next = *list;
  *list = block;
  return block->address;
}

uint64_t llmmem_pool_allocate(llmmem_pool *pool, int64_t bytes, void *stream) {
  if (bytes <= 0 || bytes > INT64_MAX - LLMMEM_POOL_ROUNDING)
    return 0;
  pthread_mutex_lock(&pool->mutex);
  int64_t size = rounded(bytes);
  int is_of_plan = pool->served.plan >= 0 && pool->served.stream == stream;
  CUdeviceptr address = is_of_plan ? serve(pool, size) : 0;
  if (!address)
    address = allocate_elsewhere(pool, size, stream, is_of_plan);
  if (address) {
    pool->usage.allocated += size;
    pool->usage.most_allocated = larger(pool->usage.most_allocated, pool->usage.allocated);
  }
  pthread_mutex_unlock(&pool->mutex);
  return address;
}

/* Returns the bytes that were freed in an arena, 0 where the address is in none. */
static int64_t free_in_arena(llmmem_pool *pool, CUdeviceptr address) {
  for (int k = 0; k < pool->plan_count; ++k) {
    Plan *plan = &pool->plans[k];
    if (!plan->begin || address < plan->begin || address >= plan->begin + (CUdeviceptr)plan->arena)
      continue;
    for (int64_t j = 0; j < plan->live_count; ++j)
      if (plan->begin + (CUdeviceptr)plan->live[j].offset == address) {
        int64_t size = plan->live[j].size;
        plan->live[j] = plan->live[--plan->live_count];
        return size;
      }
  }
  return 0;
}

static int64_t free_elsewhere(llmmem_pool *pool, CUdeviceptr address) {
  for (Block **link = bucket(pool->other.used, address); *link; link = &(*link)->next) {
    Block *block = *link;
    if (block->address != address)
      continue;
    *link = block->next;
    if (block->is_unplanned)
      pool->other.unplanned -= block->size;
    Block **list = block->belongs_to_graph ? &pool->other.graphs
                                           : bucket(pool->other.kept, (uint64_t)block->size);
    block->next = *list;
    *list = block;
    return block->size;
  }
  return 0;
}

void llmmem_pool_free(llmmem_pool *pool, uint64_t address) {
  pthread_mutex_lock(&pool->mutex);
  int64_t size = free_in_arena(pool, address);
  if (!size)
    size = free_elsewhere(pool, address);
  pool->usage.allocated -= size;
  pthread_mutex_unlock(&pool->mutex);
}

/*===----------------------------------------------------------------------===*\
|* What is held
\*===----------------------------------------------------------------------===*/

void llmmem_pool_get_usage(llmmem_pool *pool, llmmem_pool_usage *usage) {
  size_t size = usage->size < sizeof *usage ? usage->size : sizeof *usage;
  pthread_mutex_lock(&pool->mutex);
  llmmem_pool_usage found = pool->usage;
  pthread_mutex_unlock(&pool->mutex);
  found.size = usage->size;
  memcpy(usage, &found, size);
}

void llmmem_pool_reset_usage(llmmem_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  llmmem_pool_usage *usage = &pool->usage;
  usage->most_allocated = usage->allocated;
  usage->most_reserved = usage->reserved;
  usage->most_elsewhere = pool->other.unplanned;
  usage->planned = usage->unknown = usage->taken = usage->unused = 0;
  pthread_mutex_unlock(&pool->mutex);
}
