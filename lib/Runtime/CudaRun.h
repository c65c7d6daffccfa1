/*===- CudaRun.h - What a run on a GPU holds --------------------------------===*\
|*
|* The files of the runtime share this header; callers see Cuda.h.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_LIB_RUNTIME_CUDARUN_H
#define LLMMEM_LIB_RUNTIME_CUDARUN_H

#include "CudaDriver.h"
#include "llmmem/Runtime/Cuda.h"
#include "llmmem/Runtime/CudaProducts.h"
#include <stdio.h>

/* Limits the starts whose ends can be waited for one by one. A wait for an older one is a wait for
 * the newer one that took its event, because the second stream runs them in order. */
enum { MOST_STARTS = 64 };

typedef struct {
  CUfunction function;
  char *name;
  int64_t shared_bytes; /* It may be launched with this much. */
} Kernel;

/* Describes an update on the host: what the driver passes in each replay to the function that runs
 * it. It exists until the run is closed. */
typedef struct CudaUpdate {
  struct CudaUpdate *next;
  llmmem_host_kernel kernel;
  int threads; /* Those of its loops. */
  int64_t count;
  uint64_t words[];
} CudaUpdate;

/* Describes a stream other than the step's, for started calls: of ranks (communication), of copies
 * to the host and from it, and of updates on the host. */
typedef struct {
  CUstream stream;                    /* Null without starts. */
  CUevent forked, ended[MOST_STARTS]; /* Where the step was at the last start, and the ends of
                                       * starts. */
  int64_t started, waited;            /* Count copies or updates of this run. */
} Link;
enum { LINK_OF_RANKS, LINK_TO_HOST, LINK_TO_DEVICE, LINK_OF_UPDATES, LINKS };

/* Describes a function of the step. Its kernels and modules are those from its first ones to the
 * next program's, and its graph is what was captured. */
typedef struct {
  size_t first_module, first_kernel;
  CUgraph graph;
  CUgraphExec executable;
} Program;

/* Events that exist, of which a run with marks records some. */
typedef struct {
  CUevent *events;
  size_t count;
} Marks;

struct llmmem_cuda {
  CudaDriver driver;
  struct {
    CUdevice handle;
    CUcontext context;
    size_t free_at_first; /* The bytes that were free when it was opened. */
    int capability;
    char name[128];
  } device;
  CUstream stream; /* The step's; while a started call is launched, that of its link. */
  Link links[LINKS];
  int on_link;
  struct {
    CUmodule *modules;
    Kernel *kernels;
    Program *programs;
    size_t module_count, kernel_count, program_count;
    size_t program; /* Names the one that is launched. */
  } code;
  struct {
    CUdeviceptr resident, arena;
    size_t arena_bytes;
  } memory;
  struct {
    void **pinned; /* Where memory begins that copies may access. */
    size_t pinned_count;
    CudaUpdate *updates;
  } host;
  struct {
    Marks marks;
    Marks link_marks; /* Before and after each start of a run with marks. */
    int is_marked;    /* A run with marks is active. */
    size_t starts;    /* Counts those of this run. */
    int64_t replay_ns;
  } timing;
  struct {
    llmmem_products *products;
    int64_t failed;  /* The number of the product that failed, or -1. */
    char *store;     /* The file that keeps algorithms; null means none. */
    int is_choosing; /* Algorithms are chosen, without launches. */
  } matmuls;
  int failed;
  char message[4096];
};

/* Keeps the first failure. Returns 1. */
static inline int fail(llmmem_cuda *run, const char *what, const char *why) {
  if (!run->failed)
    snprintf(run->message, sizeof run->message, "%s: %s", what, why);
  run->failed = 1;
  return 1;
}

/* Returns whether the step's calls launch, which they do not while algorithms are chosen. */
static inline int launches(const llmmem_cuda *run) {
  return !run->failed && !run->matmuls.is_choosing;
}

/* Returns 0 if the driver has done `what`. */
static inline int check(llmmem_cuda *run, CUresult result, const char *what) {
  if (result == 0)
    return 0;
  const char *name = NULL, *text = NULL;
  run->driver.error_name(result, &name);
  run->driver.error_string(result, &text);
  char why[512];
  snprintf(why, sizeof why, "%s (error %d%s%s)", text ? text : "the driver does not say why",
           result, name ? ", " : "", name ? name : "");
  return fail(run, what, why);
}

/* CudaLink.c has the streams other than the step's. Between a fork and its end, launches go to the
 * link, after everything that was launched before the fork. A join makes later launches wait for
 * the end of the start of that number. */
int llmmem_cuda_open_link(llmmem_cuda *run, int link);
void llmmem_cuda_fork(llmmem_cuda *run, int link);
void llmmem_cuda_end_fork(llmmem_cuda *run, int link, int64_t number);
void llmmem_cuda_join(llmmem_cuda *run, int link, int64_t number);
void llmmem_cuda_close_links(llmmem_cuda *run);
/* Waits until no launched copy or update may still access the host's memory, which a caller frees
 * next. It waits after a failure, too, and ignores what the driver says. Does nothing where no copy
 * or update exists. */
void llmmem_cuda_wait_for_host(llmmem_cuda *run);
/* CudaHost.c calls it before `step` launches once more, and at the end of a run. */
void llmmem_cuda_forget_copies(llmmem_cuda *run);
void llmmem_cuda_unpin_all(llmmem_cuda *run);
void llmmem_cuda_free_updates(llmmem_cuda *run);
/* Creates `count` events once, because creating one takes longer than recording it. */
int llmmem_cuda_make_marks(llmmem_cuda *run, Marks *marks, size_t count);

/* CudaTimes.c has it. */
void llmmem_cuda_close_marks(llmmem_cuda *run);

/* CudaTuning.c has it: it finds the fastest algorithm of a product whose form has none yet. It
 * takes times with random numbers in memory that holds no value between steps. Where there is too
 * little of that, and where no candidate runs, it chooses nothing. Returns 1 after a failure of the
 * driver. */
int llmmem_cuda_tune(llmmem_cuda *run, const llmmem_product *product);

#endif /* LLMMEM_LIB_RUNTIME_CUDARUN_H */
