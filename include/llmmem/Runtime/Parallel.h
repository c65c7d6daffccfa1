/*===- Parallel.h - Threads for compiled steps ------------------------------===*\
|*
|* Kernels and oneDNN share one pool of threads: that of the OpenMP library in the process (oneDNN
|* brings one), else of the first that is installed, else the caller works alone. Two pools would
|* take each other's cores.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_PARALLEL_H
#define LLMMEM_RUNTIME_PARALLEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the turns [begin, end) of a loop. */
typedef void (*llmmem_turns)(void *context, int64_t begin, int64_t end);

/* Runs the turns 0 to count, each once, in no given order, and returns when all are done. Inside
 * another parallel loop the caller runs them all. */
void llmmem_parallel_for(int64_t count, llmmem_turns turns, void *context);

/* Threads of the loops and products that this thread starts from now on; 1 or more. */
void llmmem_set_threads(int count);

/* How many threads they use: all cores, if not set; 1 without an OpenMP library. */
int llmmem_threads(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_PARALLEL_H */
