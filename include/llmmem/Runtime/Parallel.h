/*===- Parallel.h - Threads for compiled steps ------------------------------===*\
|*
|* There is one pool of threads for kernels and matmuls. Its threads take iterations from one
|* counter, wait a few microseconds for more, then sleep, so other processes find the cores free. A
|* thread that another process delays holds up a loop only by the iterations that it has taken.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_PARALLEL_H
#define LLMMEM_RUNTIME_PARALLEL_H

#include "llmmem/Runtime/ExternC.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* Runs the iterations [begin, end) of a loop. */
typedef void (*llmmem_iterations)(void *context, int64_t begin, int64_t end);

/* Runs the iterations 0 to count, each once, in no given order, and returns when all are done. It
 * waits only for threads that have begun one. Inside another parallel loop, and while another
 * thread's loop runs, the caller runs them all. */
void llmmem_parallel_for(int64_t count, llmmem_iterations run, void *context);

/* Sets the number of threads of the loops and products that this thread starts from now on: 1 or
 * more, at most 1024. */
void llmmem_set_threads(int count);

/* Returns how many threads they use. The default is all cores that the process may run on, or
 * OMP_NUM_THREADS; inside a loop it is the number of the loop. */
int llmmem_threads(void);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_PARALLEL_H */
