//===- Hooks.h - What emulated kernels and their host code call ------------===//
//
// `emulate-gpu-kernels` emits the calls of these hooks. A kernel is a function of one thread, whose
// ids it loads from the first words of `Thread` (ThreadWords), and of its arguments, each in a
// word.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EMULATION_HOOKS_H
#define LLMMEM_EMULATION_HOOKS_H

#include <cstdint>

namespace llmmem::emulation {

/// Describes the part of a thread that kernels read, in this order, with 8 bytes for each member.
struct ThreadWords {
  int64_t thread[3], block[3], blockSize[3], gridSize[3];
  char *shared;         // The block's shared memory.
  int64_t dynamicBytes; // Follows the workgroup attributions.
};

struct Thread;
using KernelFunction = void (*)(Thread *thread, const uint64_t *arguments);
/// This is native code that the host runs on the buffers at words[0], words[1], ....
using HostFunction = void (*)(const uint64_t *words);

/// Holds a shuffled value: its bits, and whether the source lane exists.
struct Shuffled {
  uint64_t bits, valid;
};

} // namespace llmmem::emulation

extern "C" {

/// Says that the call numbered `call` follows; -1 is one that does not describe its values.
void llmmem_emulate_call(void *emulator, int64_t call);

/// Says that the runtime is about to access `bytes` bytes at `address`, a buffer of the current
/// call. It reads them where they are parameter `parameter` of the call and the call does not write
/// that; otherwise it writes them.
void llmmem_emulate_runtime_access(void *emulator, int64_t address, int64_t bytes,
                                   int64_t parameter);

/// Copies to the host (`direction` 0) or from it (1) the values that call `call` names: first the
/// one that is read, then the one that is written. With `isStarted` it runs until the wait for the
/// first copy of its direction that nothing has waited for.
void llmmem_emulate_host_copy(void *emulator, int64_t call, int64_t to, int64_t from, int64_t bytes,
                              int64_t direction, int64_t isStarted);
void llmmem_emulate_host_copy_wait(void *emulator, int64_t direction);

/// Runs an update on the host of the values that call `call` names, each with the bytes that
/// `sizes` says. With `isStarted` it runs after those started before, until the wait for the first
/// update that nothing has waited for.
void llmmem_emulate_update(void *emulator, int64_t call, llmmem::emulation::HostFunction update,
                           const uint64_t *words, const int64_t *sizes, int64_t isStarted);
void llmmem_emulate_update_wait(void *emulator);

/// `shape` holds three sizes of the grid, three of the block, and the bytes of dynamic shared
/// memory.
void llmmem_emulate_launch(void *emulator, int64_t launch, llmmem::emulation::KernelFunction kernel,
                           const uint64_t *arguments, const int64_t *shape);

/// Says that a read or write of the site's bytes at `base` + `offset` follows; `base` is where the
/// accessed buffer or view begins.
void llmmem_emulate_access(llmmem::emulation::Thread *thread, int64_t site, int64_t base,
                           int64_t offset);

/// Says that an access of the site's bytes in the shared memory of block `rank` of the cluster
/// follows, where the block's own shared memory has `address`. Returns the address there.
int64_t llmmem_emulate_visit(llmmem::emulation::Thread *thread, int64_t site, int64_t address,
                             int32_t rank);
/// Waits at a barrier of all threads of the cluster.
void llmmem_emulate_cluster_barrier(llmmem::emulation::Thread *thread, int64_t site);
void llmmem_emulate_barrier(llmmem::emulation::Thread *thread, int64_t site);
void llmmem_emulate_warp_barrier(llmmem::emulation::Thread *thread, int64_t site, int32_t mask);
llmmem::emulation::Shuffled llmmem_emulate_shuffle(llmmem::emulation::Thread *thread, int64_t site,
                                                   uint64_t bits, int32_t offset, int32_t width);
/// Emulates ldmatrix: the site's bytes at `base` + `offset` are the row that this lane names, and
/// `words` receives its word of each matrix.
void llmmem_emulate_load_matrix(llmmem::emulation::Thread *thread, int64_t site, int64_t base,
                                int64_t offset, uint32_t *words);

/// Emulates cp.async: site `site` reads `bytes` bytes at `from` + `fromOffset`, and site `site` + 1
/// writes them and zeros to `to` + `toOffset`, at any time until the thread has waited for the
/// group that the copy is committed in.
void llmmem_emulate_copy(llmmem::emulation::Thread *thread, int64_t site, int64_t from,
                         int64_t fromOffset, int64_t to, int64_t toOffset, int64_t bytes);
void llmmem_emulate_commit_copies(llmmem::emulation::Thread *thread);
/// Waits until at most `groups` of the thread's groups, the newest ones, are not complete.
void llmmem_emulate_wait_for_copies(llmmem::emulation::Thread *thread, int64_t groups);

/// Emulates wgmma: adds to the thread's `sums`, half as many as the site's columns. Nobody may
/// touch them until the thread has waited for the group that it is committed in. `a` and `b` are
/// descriptors.
void llmmem_emulate_wgmma(llmmem::emulation::Thread *thread, int64_t site, float *sums, uint64_t a,
                          uint64_t b);
/// Does the same with the thread's four words of A in `a`.
void llmmem_emulate_register_wgmma(llmmem::emulation::Thread *thread, int64_t site, float *sums,
                                   const uint32_t *a, uint64_t b);
/// Says that the thread touches the sums of the site.
void llmmem_emulate_take_sums(llmmem::emulation::Thread *thread, int64_t site);
void llmmem_emulate_fence_sums(llmmem::emulation::Thread *thread);
void llmmem_emulate_commit_wgmma(llmmem::emulation::Thread *thread);
/// Waits until at most `groups` of the thread's groups, the newest ones, are not complete.
void llmmem_emulate_wait_for_wgmma(llmmem::emulation::Thread *thread, int64_t groups);
/// Lets wgmma read what the thread has written to shared memory.
void llmmem_emulate_fence_proxy(llmmem::emulation::Thread *thread);

/// Emulate an mbarrier at an address of shared memory, whose phase ends after a number of arrivals;
/// an arrival, which also expects a number of bytes of copies before the end; an arrival at the
/// mbarrier that block `rank` of the cluster has there; and a wait for the end of the phase of a
/// parity.
void llmmem_emulate_make_barrier(llmmem::emulation::Thread *thread, int64_t site, int64_t address,
                                 int32_t arrivals);
void llmmem_emulate_arrive(llmmem::emulation::Thread *thread, int64_t site, int64_t address,
                           int32_t expectedBytes);
void llmmem_emulate_arrive_at(llmmem::emulation::Thread *thread, int64_t site, int64_t address,
                              int32_t rank);
void llmmem_emulate_wait_for_phase(llmmem::emulation::Thread *thread, int64_t site, int64_t address,
                                   int32_t parity);
/// Emulates fence.mbarrier.init: other blocks of the cluster may then use the mbarriers that the
/// thread has made.
void llmmem_emulate_fence_barriers(llmmem::emulation::Thread *thread);
/// Emulates cp.async.bulk.tensor. Site `site` reads the box of `boxRows` rows of 128 bytes from
/// (`row`, `column`) on of a matrix of 16-bit elements that begins `first` elements after `base`.
/// Site `site` + 1 writes it, with zeros outside of the matrix, to address `to` in the 128-byte
/// swizzle, at any time until the current phase of the mbarrier at `barrier` ends. With `blocks`, a
/// bit for each block of the cluster, all of these get the box at this address, for their mbarrier
/// there. It has many parameters because the caller is compiled code, which has these numbers in
/// registers.
void llmmem_emulate_copy_box(llmmem::emulation::Thread *thread, int64_t site, int64_t base,
                             int64_t first, int64_t rows, int64_t columns, int64_t pitch,
                             int64_t boxRows, int32_t row, int32_t column, int64_t to,
                             int64_t barrier, int32_t blocks);

/// `fragments` holds 4 words of A, 2 of B, and 4 numbers of C, which become D's.
void llmmem_emulate_mma(llmmem::emulation::Thread *thread, int64_t site, void *fragments);

} // extern "C"

#endif // LLMMEM_EMULATION_HOOKS_H
