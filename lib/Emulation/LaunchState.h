//===- LaunchState.h - The arguments of the launch at hand ----------------===//

#ifndef LLMMEM_LIB_EMULATION_LAUNCHSTATE_H
#define LLMMEM_LIB_EMULATION_LAUNCHSTATE_H

#include "StepState.h"
#include <unordered_map>

namespace llmmem::emulation {

class LaunchState : public StepState {
protected:
  using StepState::StepState;

  bool bind(const Launch &launch, const uint64_t *words);
  bool bindArgument(size_t number, char *begin, int64_t bytes);
  void takeCallRecord(size_t number, const Launch &launch);
  void watch();
  void recordBegins();
  int64_t argumentAt(const Site &site, int64_t base) const;

  Triple grid = {1, 1, 1}, block = {1, 1, 1};
  std::vector<Argument> arguments;
  /// Holds the arguments that begin at an address: one that is written and one that is not, if they
  /// alias.
  struct BeginsHere {
    int64_t written = -1, readOnly = -1;
  };
  std::unordered_map<uint64_t, BeginsHere> begins;
  /// Names the argument of the current access, or the block whose shared memory it accesses.
  int64_t accessed = 0, visited = 0;
};

/// (1, 0, 0)
std::string textOf(Triple numbers);
/// Returns the ids of thread or block number `linear`.
inline Triple idsIn(int64_t linear, Triple sizes) {
  return {linear % sizes[0], linear / sizes[0] % sizes[1], linear / sizes[0] / sizes[1]};
}

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_LAUNCHSTATE_H
