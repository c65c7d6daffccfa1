//===- VerifyParts.h - The parts of the verifier ----------------------------===//
//
// These are parts of Verify.cpp, and no other code uses them: the verifier shares nothing with the
// solvers.
//

#ifndef LLMMEM_LIB_PLANNING_MODEL_VERIFYPARTS_H
#define LLMMEM_LIB_PLANNING_MODEL_VERIFYPARTS_H

#include "llmmem/Planning/Model/Plan.h"
#include "llvm/ADT/Twine.h"
#include <functional>

namespace llmmem::planning {

using Wide = __int128; // sums over repeats may leave 64 bits
std::string text(Wide number);

/// Takes a violation: its step (-1: the plan as a whole), rule and message.
using Report = std::function<void(int32_t, llvm::StringRef, const llvm::Twine &)>;

/// Returns " in 'host'" for a memory other than the device's.
std::string in(const Problem &problem, MemoryIndex memory);
/// Returns what a plan says about a memory.
MemoryUse useOf(const Plan &plan, MemoryIndex memory);
Wide residentBytes(const Problem &problem, MemoryIndex memory);

/// Verifies a plan without steps. Its numbers must be 0, and its bounds on every schedule must also
/// be true of the program order with no two buffers sharing bytes.
void verifyWithoutSteps(const Problem &problem, const Plan &plan, const Report &report);
void verifyWitness(const Problem &problem, const Plan &plan, const Report &report);

/// The bytes of an arena that a step uses.
struct ByteUse {
  MemoryIndex memory;
  int64_t begin, end;
  bool writes; // or takes as workspace
};

struct TimedStep {
  Resource resource = Resource::Compute;
  int64_t cost = 0;
  std::vector<int32_t>
      after; // earlier steps whose results it reads; -1: an input, which exists from the start
  std::vector<ByteUse> bytes;
};

/// Returns when the last of `steps` ends (see PlanTime).
Wide makespan(const std::vector<TimedStep> &steps);
/// Returns the same for the program order without optional ops, where no byte is shared.
Wide baseTime(const Problem &problem);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_MODEL_VERIFYPARTS_H
