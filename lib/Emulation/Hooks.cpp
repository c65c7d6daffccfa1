//===- Hooks.cpp - What emulated kernels and their host code call ----------===//

#include "llmmem/Emulation/Hooks.h"
#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

void llmmem_emulate_call(void *emulator, int64_t call) {
  static_cast<Emulator *>(emulator)->state().announce(call);
}

void llmmem_emulate_launch(void *emulator, int64_t launch, KernelFunction kernel,
                           const uint64_t *arguments, const int64_t *shape) {
  static_cast<Emulator *>(emulator)->state().launch(launch, kernel, arguments, shape);
}

void llmmem_emulate_runtime_access(void *emulator, int64_t address, int64_t bytes,
                                   int64_t parameter) {
  static_cast<Emulator *>(emulator)->state().accessByRuntime(reinterpret_cast<char *>(address),
                                                             bytes, parameter);
}

void llmmem_emulate_host_copy(void *emulator, int64_t call, int64_t to, int64_t from, int64_t bytes,
                              int64_t direction, int64_t isStarted) {
  Emulator::State &state = static_cast<Emulator *>(emulator)->state();
  state.announce(call);
  state.copyHost({reinterpret_cast<char *>(to), reinterpret_cast<const char *>(from), bytes, call},
                 direction, isStarted != 0);
}

void llmmem_emulate_host_copy_wait(void *emulator, int64_t direction) {
  static_cast<Emulator *>(emulator)->state().waitForHost(direction);
}

void llmmem_emulate_update(void *emulator, int64_t call, HostFunction update, const uint64_t *words,
                           const int64_t *sizes, int64_t isStarted) {
  Emulator::State &state = static_cast<Emulator *>(emulator)->state();
  state.announce(call);
  state.updateOnHost({update, words, sizes, call}, isStarted != 0);
}

void llmmem_emulate_update_wait(void *emulator) {
  static_cast<Emulator *>(emulator)->state().waitForHost(kQueueOfUpdates);
}

void llmmem_emulate_access(Thread *thread, int64_t site, int64_t base, int64_t offset) {
  Emulator::State &emulator = *thread->emulator;
  if (!emulator.mayAccess(*thread, site, base, offset, emulator.site(site).bytes))
    thread->halt();
}

int64_t llmmem_emulate_visit(Thread *thread, int64_t site, int64_t address, int32_t rank) {
  char *place = thread->emulator->visit(*thread, site, address, rank);
  if (!place)
    thread->halt();
  return reinterpret_cast<int64_t>(place);
}

void llmmem_emulate_cluster_barrier(Thread *thread, int64_t site) { thread->wait(site, 0); }

void llmmem_emulate_barrier(Thread *thread, int64_t site) { thread->wait(site, 0); }

void llmmem_emulate_warp_barrier(Thread *thread, int64_t site, int32_t mask) {
  if (!thread->emulator->maySynchronize(*thread, site, mask))
    thread->halt();
  thread->wait(site, kWarp);
}

Shuffled llmmem_emulate_shuffle(Thread *thread, int64_t site, uint64_t bits, int32_t offset,
                                int32_t width) {
  if (!thread->emulator->mayShuffle(*thread, site, width))
    thread->halt();
  thread->value.bits = bits;
  thread->offset = offset;
  thread->wait(site, width);
  return thread->value;
}

void llmmem_emulate_load_matrix(Thread *thread, int64_t site, int64_t base, int64_t offset,
                                uint32_t *words) {
  const Site &load = thread->emulator->site(site);
  bool namesRow = thread->lane() < 8 * load.matrices;
  if (namesRow && !thread->emulator->mayAccess(*thread, site, base, offset, load.bytes))
    thread->halt();
  thread->row = reinterpret_cast<const char *>(base + offset);
  thread->words = words;
  thread->wait(site, kWarp);
}

void llmmem_emulate_copy(Thread *thread, int64_t site, int64_t from, int64_t fromOffset, int64_t to,
                         int64_t toOffset, int64_t bytes) {
  Emulator::State &emulator = *thread->emulator;
  if (!emulator.mayCopy(*thread, site, from, fromOffset, bytes) ||
      !emulator.startCopy(*thread, site + 1, to, toOffset))
    thread->halt();
  char *target = reinterpret_cast<char *>(to + toOffset);
  std::memcpy(target, reinterpret_cast<const char *>(from + fromOffset), bytes);
  std::memset(target + bytes, 0, emulator.site(site).bytes - bytes);
}

void llmmem_emulate_commit_copies(Thread *thread) {
  thread->emulator->copies().commit(thread->number);
}

void llmmem_emulate_wait_for_copies(Thread *thread, int64_t groups) {
  thread->emulator->finishCopies(*thread, groups);
}

void llmmem_emulate_wgmma(Thread *thread, int64_t site, float *sums, uint64_t a, uint64_t b) {
  if (!thread->emulator->mayMultiply(*thread, site))
    thread->halt();
  thread->sums = sums;
  thread->descriptors = {a, b};
  thread->wait(site, kWarpgroup);
}

void llmmem_emulate_register_wgmma(Thread *thread, int64_t site, float *sums, const uint32_t *a,
                                   uint64_t b) {
  if (!thread->emulator->mayMultiply(*thread, site))
    thread->halt();
  thread->sums = sums;
  thread->wordsOfA = a;
  thread->descriptors = {0, b};
  thread->wait(site, kWarpgroup);
}

void llmmem_emulate_take_sums(Thread *thread, int64_t site) {
  if (!thread->emulator->mayTakeSums(*thread, site))
    thread->halt();
}

void llmmem_emulate_fence_sums(Thread *thread) {
  thread->emulator->asyncMultiplies().fenceSums(thread->number);
}

void llmmem_emulate_commit_wgmma(Thread *thread) {
  thread->emulator->asyncMultiplies().commit(thread->number);
}

void llmmem_emulate_wait_for_wgmma(Thread *thread, int64_t groups) {
  thread->emulator->finishMultiplies(*thread, groups);
}

void llmmem_emulate_fence_proxy(Thread *thread) { thread->emulator->fenceProxy(*thread); }

void llmmem_emulate_make_barrier(Thread *thread, int64_t site, int64_t address, int32_t arrivals) {
  if (!thread->emulator->makeBarrier(*thread, site, address, arrivals))
    thread->halt();
}

void llmmem_emulate_arrive(Thread *thread, int64_t site, int64_t address, int32_t expectedBytes) {
  if (!thread->emulator->arrive(*thread, site, address, expectedBytes))
    thread->halt();
}

void llmmem_emulate_arrive_at(Thread *thread, int64_t site, int64_t address, int32_t rank) {
  if (!thread->emulator->arriveAt(*thread, site, address, rank))
    thread->halt();
}

void llmmem_emulate_fence_barriers(Thread *thread) { thread->emulator->fenceBarriers(*thread); }

void llmmem_emulate_wait_for_phase(Thread *thread, int64_t site, int64_t address, int32_t parity) {
  Emulator::State &emulator = *thread->emulator;
  if (!emulator.mayWaitForPhase(*thread, site, address, parity))
    thread->halt();
  if (!emulator.hasPhaseEnded(address, parity))
    thread->waitForPhase(site, address, parity);
  emulator.learnPhase(*thread, address, parity);
}

void llmmem_emulate_copy_box(Thread *thread, int64_t site, int64_t base, int64_t first,
                             int64_t rows, int64_t columns, int64_t pitch, int64_t boxRows,
                             int32_t row, int32_t column, int64_t to, int64_t barrier,
                             int32_t blocks) {
  if (!thread->emulator->copyBox(*thread, site,
                                 {.base = base,
                                  .first = first,
                                  .rows = rows,
                                  .columns = columns,
                                  .pitch = pitch,
                                  .boxRows = boxRows,
                                  .row = row,
                                  .column = column,
                                  .to = to,
                                  .barrier = barrier,
                                  .blocks = blocks}))
    thread->halt();
}

void llmmem_emulate_mma(Thread *thread, int64_t site, void *fragments) {
  thread->fragments = static_cast<Fragments *>(fragments);
  thread->wait(site, kWarp);
}
