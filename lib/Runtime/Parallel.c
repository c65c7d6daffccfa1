/*===- Parallel.c - Threads for compiled steps ------------------------------===*\
|*
|* GOMP_parallel is what GCC compiles `#pragma omp parallel` to: a stable entry of libgomp, exported
|* by LLVM's libomp too. Called by name, it needs no compiler with OpenMP and brings no second pool.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "llmmem/Runtime/Parallel.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct {
  void (*parallel)(void (*work)(void *), void *data, unsigned threads, unsigned flags);
  int (*max_threads)(void);
  int (*in_parallel)(void);
  void (*set_threads)(int);
} OpenMP;

static OpenMP openmp;
static pthread_once_t openmp_once = PTHREAD_ONCE_INIT;

static void find_openmp(void) {
  static const char *const libraries[] = {"libgomp.so.1", "libomp.so.5"};
  void *library = RTLD_DEFAULT;
  for (size_t k = 0; !dlsym(library, "GOMP_parallel") && k < 2; ++k) {
    void *opened = dlopen(libraries[k], RTLD_NOW | RTLD_GLOBAL);
    library = opened ? opened : library;
  }
  /* ISO C has no conversion from an object pointer to a function's. */
  *(void **)&openmp.parallel = dlsym(library, "GOMP_parallel");
  *(void **)&openmp.max_threads = dlsym(library, "omp_get_max_threads");
  *(void **)&openmp.in_parallel = dlsym(library, "omp_in_parallel");
  *(void **)&openmp.set_threads = dlsym(library, "omp_set_num_threads");
  if (!openmp.parallel || !openmp.max_threads || !openmp.in_parallel || !openmp.set_threads)
    openmp.parallel = NULL;
}

static const OpenMP *library(void) {
  pthread_once(&openmp_once, find_openmp);
  return openmp.parallel ? &openmp : NULL;
}

void llmmem_set_threads(int count) {
  if (library() && count > 0)
    library()->set_threads(count);
}

int llmmem_threads(void) { return library() ? library()->max_threads() : 1; }

typedef struct {
  llmmem_turns turns;
  void *context;
  int64_t count, share;
  _Atomic int64_t next;
} Loop;

/* Each thread takes the next few turns until none are left: a thread that is held up holds up
 * nobody else. */
static void take_turns(void *data) {
  Loop *loop = data;
  for (;;) {
    int64_t begin = atomic_fetch_add_explicit(&loop->next, loop->share, memory_order_relaxed);
    if (begin >= loop->count)
      return;
    int64_t left = loop->count - begin;
    loop->turns(loop->context, begin, begin + (left < loop->share ? left : loop->share));
  }
}

void llmmem_parallel_for(int64_t count, llmmem_turns turns, void *context) {
  int threads = llmmem_threads();
  if (count < 2 || threads < 2 || library()->in_parallel()) {
    turns(context, 0, count);
    return;
  }
  int64_t shares = 16 * (int64_t)threads;
  Loop loop = {turns, context, count, count < shares ? 1 : count / shares, 0};
  library()->parallel(take_turns, &loop, 0, 0);
}
