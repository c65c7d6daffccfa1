//===- EmulatorNone.cpp - Without fibers there is no emulator --------------===//

#include "llmmem/Emulation/Emulator.h"
#include "llmmem/Emulation/Hooks.h"

using namespace llmmem::emulation;

class Emulator::State {};

bool llmmem::emulation::isEmulatorBuilt() { return false; }

Emulator::Emulator(Program) {}
Emulator::~Emulator() = default;
void Emulator::addBuffer(void *, int64_t, Contents) {}
void Emulator::beginStep() {}
void Emulator::endStep() {}
const Fault *Emulator::fault() const { return nullptr; }

// Never called: asking for the emulator fails before compilation.
void llmmem_emulate_call(void *, int64_t) {}
void llmmem_emulate_launch(void *, int64_t, KernelFunction, const uint64_t *, const int64_t *) {}
void llmmem_emulate_runtime_access(void *, int64_t, int64_t, int64_t) {}
void llmmem_emulate_host_copy(void *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {}
void llmmem_emulate_host_copy_wait(void *, int64_t) {}
void llmmem_emulate_update(void *, int64_t, HostFunction, const uint64_t *, const int64_t *,
                           int64_t) {}
void llmmem_emulate_update_wait(void *) {}
void llmmem_emulate_access(Thread *, int64_t, int64_t, int64_t) {}
int64_t llmmem_emulate_visit(Thread *, int64_t, int64_t, int32_t) { return 0; }
void llmmem_emulate_cluster_barrier(Thread *, int64_t) {}
void llmmem_emulate_barrier(Thread *, int64_t) {}
void llmmem_emulate_warp_barrier(Thread *, int64_t, int32_t) {}
Shuffled llmmem_emulate_shuffle(Thread *, int64_t, uint64_t, int32_t, int32_t) { return {0, 0}; }
void llmmem_emulate_load_matrix(Thread *, int64_t, int64_t, int64_t, uint32_t *) {}
void llmmem_emulate_copy(Thread *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {}
void llmmem_emulate_commit_copies(Thread *) {}
void llmmem_emulate_wait_for_copies(Thread *, int64_t) {}
void llmmem_emulate_wgmma(Thread *, int64_t, float *, uint64_t, uint64_t) {}
void llmmem_emulate_register_wgmma(Thread *, int64_t, float *, const uint32_t *, uint64_t) {}
void llmmem_emulate_take_sums(Thread *, int64_t) {}
void llmmem_emulate_fence_sums(Thread *) {}
void llmmem_emulate_commit_wgmma(Thread *) {}
void llmmem_emulate_wait_for_wgmma(Thread *, int64_t) {}
void llmmem_emulate_fence_proxy(Thread *) {}
void llmmem_emulate_make_barrier(Thread *, int64_t, int64_t, int32_t) {}
void llmmem_emulate_arrive(Thread *, int64_t, int64_t, int32_t) {}
void llmmem_emulate_arrive_at(Thread *, int64_t, int64_t, int32_t) {}
void llmmem_emulate_fence_barriers(Thread *) {}
void llmmem_emulate_wait_for_phase(Thread *, int64_t, int64_t, int32_t) {}
void llmmem_emulate_copy_box(Thread *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                             int64_t, int32_t, int32_t, int64_t, int64_t, int32_t) {}
void llmmem_emulate_mma(Thread *, int64_t, void *) {}
