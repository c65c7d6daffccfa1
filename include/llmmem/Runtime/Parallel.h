/*===- Parallel.h - Threads for compiled steps ------------------------------===*\
|*
|* One pool of threads for kernels and matmuls. Its threads take iterations from one counter, wait a
|* few microseconds for more, then sleep: other processes find the cores free, and a thread that
|* another process delays holds up a loop by the iterations it has in hand, no more.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_PARALLEL_H
#define LLMMEM_RUNTIME_PARALLEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the iterations [begin, end) of a loop. */
typedef void (*llmmem_iterations)(void *context, int64_t begin, int64_t end);

/* Runs the iterations 0 to count, each once, in no given order, and returns when all are done. Only
 * threads that have begun one are waited for. Inside another parallel loop, and while another
 * thread's loop runs, the caller runs them all. */
void llmmem_parallel_for(int64_t count, llmmem_iterations run, void *context);

/* Threads of the loops and products that this thread starts from now on: 1 or more, at most 1024.
 */
void llmmem_set_threads(int count);

/* How many threads they use. If not set, all cores that the process may run on, or OMP_NUM_THREADS;
 * inside a loop, as many as the loop. */
int llmmem_threads(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_PARALLEL_H */
