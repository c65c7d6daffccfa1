/*===- Cuda.h - A planned step on an NVIDIA GPU -----------------------------===*\
|*
|* Runs steps over the CUDA driver, which is opened on request: nothing here is linked against it.
|* A run holds one device, one stream, the kernels, and two allocations: the arena, and the buffers
|* of all arguments and results one after another. A step is captured once as a graph, or as a
|* graph for each of its functions, and replayed, because its addresses never change.
|*
|*   llmmem_cuda *run = llmmem_cuda_open("libcuda.so.1", 0, message, sizeof message);
|*   llmmem_cuda_load(run, ptx);
|*   llmmem_cuda_add_kernel(run, 0, "kernel_3_gelu_kernel");     kernel 0 of llmmem_cuda_launch
|*   llmmem_cuda_reserve(run, resident, arena);                  refused where the device has less
|*   llmmem_cuda_upload(run, llmmem_cuda_resident(run) + offset, bytes, count);
|*   llmmem_cuda_capture(run, step, context);                    calls step(context), which launches
|*   llmmem_cuda_replay(run);
|*   llmmem_cuda_download(run, bytes, llmmem_cuda_resident(run) + offset, count);
|*   llmmem_cuda_close(run);
|*
|* Functions return 0, or another number when the driver has failed. llmmem_cuda_message then says
|* what failed, and every later call fails too, so that compiled code need not check. A run belongs
|* to the thread that opened it.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_CUDA_H
#define LLMMEM_RUNTIME_CUDA_H

#include "llmmem/Runtime/CudaProducts.h"
#include "llmmem/Runtime/TensorMaps.h"

LLMMEM_EXTERN_C_BEGIN

typedef struct llmmem_cuda llmmem_cuda;

/* Opens `library` (a name for dlopen) and its device of that number, or the only device where there
 * is one. Returns null on failure, with the reason in `message`. */
llmmem_cuda *llmmem_cuda_open(const char *library, int64_t device, char *message, size_t size);
/* Releases everything, also after a failure. Does nothing for null. */
void llmmem_cuda_close(llmmem_cuda *run);
/* Returns the first failure; empty if there is none. */
const char *llmmem_cuda_message(const llmmem_cuda *run);
/* Returns, for example, "NVIDIA H200". */
const char *llmmem_cuda_device_name(const llmmem_cuda *run);
/* Returns ten times the compute capability: 90 for 9.0. */
int llmmem_cuda_capability(const llmmem_cuda *run);
typedef struct {
  int cuda_version;                                 /* The driver's version: 12040 for 12.4. */
  int clock_khz, memory_clock_khz, multiprocessors; /* The value 0 means that the driver does not
                                                     * say. */
  int64_t free_bytes, total_bytes;
} llmmem_cuda_facts;
int llmmem_cuda_describe(llmmem_cuda *run, llmmem_cuda_facts *facts);

/* A step may consist of several functions, called programs, each with its own kernels and its own
 * graph. A run begins with program 0. Begins the next one, whose modules and kernels are numbered
 * from 0, and returns its number; -1 after a failure. Later calls apply to that program. */
int64_t llmmem_cuda_begin_program(llmmem_cuda *run);
/* Makes later calls apply to that program: captures, replays, launches. */
int llmmem_cuda_choose_program(llmmem_cuda *run, int64_t program);

/* Loads PTX that ends with a zero. Modules are numbered from 0, in the order of loading. */
int llmmem_cuda_load(llmmem_cuda *run, const char *ptx);
/* Adds a kernel. Kernels are numbered from 0, in the order of adding. */
int llmmem_cuda_add_kernel(llmmem_cuda *run, size_t module, const char *name);

/* Lets steps compute matmuls by cuBLASLt. Returns 1 if `library` cannot be opened, with the reason
 * in `message`; the run continues without it. */
int llmmem_cuda_open_products(llmmem_cuda *run, const char *library, char *message, size_t size);
/* Returns null if they are not open. */
llmmem_products *llmmem_cuda_products(const llmmem_cuda *run);
/* Times algorithms and keeps them in a file of `folder`, one for each device and version of the
 * library (ProductStore.h). A form in the file uses the algorithm that is there; for another form
 * the fastest candidate is taken and written to the file. So all plans of a machine compute a form
 * alike. Returns 1, with the reason in `message`, for an incomplete file. */
int llmmem_cuda_keep_algorithms(llmmem_cuda *run, const char *folder, char *message, size_t size);
/* Returns the number of the matmul that failed; -1 if none has. */
int64_t llmmem_cuda_failed_product(const llmmem_cuda *run);

/* Allocates the bytes of arguments and results and those of the arena, and fills them with zeros.
 * Both begin at multiples of 256. Refuses before it allocates anything where they exceed the free
 * bytes. A second call replaces the first, whose contents and addresses are lost. */
int llmmem_cuda_reserve(llmmem_cuda *run, int64_t resident, int64_t arena);
/* Return addresses on the device. */
uint64_t llmmem_cuda_resident(const llmmem_cuda *run);
uint64_t llmmem_cuda_arena(const llmmem_cuda *run);
/* Returns the decrease of free bytes of the device since its context was created: both allocations,
 * code, the graph. Returns -1 after a failure. */
int64_t llmmem_cuda_measured_bytes(llmmem_cuda *run);

/* Copies are complete when these functions return. */
int llmmem_cuda_upload(llmmem_cuda *run, uint64_t to, const void *from, int64_t bytes);
int llmmem_cuda_download(llmmem_cuda *run, void *to, uint64_t from, int64_t bytes);
int llmmem_cuda_fill(llmmem_cuda *run, uint64_t to, int byte, int64_t bytes);

/* Lets copies of the step read and write `bytes` bytes of the host's memory. Its pages must hold
 * nothing else that is pinned, and must stay until they are unpinned or the run is closed. */
int llmmem_cuda_pin(llmmem_cuda *run, void *begin, int64_t bytes);
int llmmem_cuda_unpin(llmmem_cuda *run, void *begin);

/* Chooses the algorithms of all matmuls of `step(context)`, as a capture and a marked run do first,
 * because inside a capture the library must not allocate or synchronize. Keeps chosen algorithms.
 * */
void llmmem_cuda_choose_algorithms(llmmem_cuda *run, void (*step)(void *context), void *context);
/* Chooses the algorithm of one matmul. Returns 1 where there is none for it, which
 * llmmem_products_message explains, and the run goes on; or after a failure of the run. */
int llmmem_cuda_choose_algorithm(llmmem_cuda *run, const llmmem_product *product);

/* Records what `step(context)` launches, and runs nothing. With a library the step is called twice:
 * the first call chooses algorithms and launches nothing. Releases what the program captured
 * before. */
int llmmem_cuda_capture(llmmem_cuda *run, void (*step)(void *context), void *context);
/* Runs what was captured, to its end. */
int llmmem_cuda_replay(llmmem_cuda *run);
/* Returns the time of the last replay, by events around it. */
int64_t llmmem_cuda_replay_ns(const llmmem_cuda *run);
/* Runs what `step(context)` launches without a graph, and gives the nanoseconds between its marks 0
 * and 1, ..., count - 1 and count, by events. */
int llmmem_cuda_run_marked(llmmem_cuda *run, void (*step)(void *context), void *context,
                           int64_t *ns, int64_t count);
/* Gives the nanoseconds of each of the `count` calls that the last such run has started
 * (Started.h). */
int llmmem_cuda_read_starts(llmmem_cuda *run, int64_t *ns, int64_t count);
/* Gives the nanoseconds between marks that were recorded and have been reached. */
int llmmem_cuda_read_marks(llmmem_cuda *run, int64_t *ns, int64_t count);

/* Compiled steps call the following. A kernel's arguments lie in 8 bytes each, low bytes first. It
 * has many parameters because the caller is compiled code, which has these numbers in registers. */
void llmmem_cuda_launch(llmmem_cuda *run, int64_t kernel, int64_t grid_x, int64_t grid_y,
                        int64_t grid_z, int64_t block_x, int64_t block_y, int64_t block_z,
                        int64_t shared_bytes, uint64_t *values, int64_t count);
/* Launches a kernel that takes tensor maps after its arguments. It has many parameters because the
 * caller is compiled code, which has these numbers in registers. */
void llmmem_cuda_launch_mapped(llmmem_cuda *run, int64_t kernel, int64_t grid_x, int64_t grid_y,
                               int64_t grid_z, int64_t block_x, int64_t block_y, int64_t block_z,
                               int64_t shared_bytes, uint64_t *values, int64_t count,
                               const llmmem_tensor_map *maps, int64_t map_count);
void llmmem_cuda_multiply(llmmem_cuda *run, const llmmem_product *product);
/* Marks the position before call `number` of a profiled step, or after the last. */
void llmmem_cuda_mark(llmmem_cuda *run, int64_t number);
void llmmem_cuda_copy(llmmem_cuda *run, uint64_t to, uint64_t from, int64_t bytes);

/* Copies between the device and pinned memory of the host, to the host with direction
 * LLMMEM_COPY_TO_HOST and from it with LLMMEM_COPY_TO_DEVICE (HostCopies.h). llmmem_cuda_host_copy
 * runs in the order of launches. A start runs on a stream of its direction, after everything
 * launched before it and concurrently with later launches. What is launched after a wait runs after
 * the first copy of the direction that nothing has waited for. */
void llmmem_cuda_host_copy(llmmem_cuda *run, uint64_t to, uint64_t from, int64_t bytes,
                           int64_t direction);
void llmmem_cuda_host_copy_start(llmmem_cuda *run, uint64_t to, uint64_t from, int64_t bytes,
                                 int64_t direction);
void llmmem_cuda_host_copy_wait(llmmem_cuda *run, int64_t direction);

/* Native code that the host runs on the buffers at words[0], words[1], ..., in its own memory. */
typedef void (*llmmem_host_kernel)(const uint64_t *words);
/* Makes the driver call the kernel in the order of launches, in each replay, with a copy of these
 * `count` words. The kernel must not call the driver. A start runs on the stream of updates, after
 * everything launched before it and concurrently with later launches; a wait is as that for a copy.
 * Its loops have as many threads as those of the launching thread (Parallel.h). */
void llmmem_cuda_update(llmmem_cuda *run, llmmem_host_kernel kernel, const uint64_t *words,
                        int64_t count);
void llmmem_cuda_update_start(llmmem_cuda *run, llmmem_host_kernel kernel, const uint64_t *words,
                              int64_t count);
void llmmem_cuda_update_wait(llmmem_cuda *run);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_CUDA_H */
