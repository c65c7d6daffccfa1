//===- ChainProgram.h - The best option for every stage ----------------------===//
//
// This is a dynamic program over the chain. While stage i runs, forward or backward, the stages
// before it hold what their options hold, and stage i needs its own peak in addition. So the cost
// of the stages from i on is a function of the bytes available to them: an option needs its peak
// while its stage runs, and reduces the bytes available to the later stages by what it holds. One
// table answers for every capacity. The program is exact, except where long tables are thinned.
//
// Example: two stages with options (cost 0, held 10, peaks 10) and (cost 1, held 2, peaks 10),
// capacity 12: the first stage takes the second option (2 + 10 fits), the second keeps.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINPROGRAM_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINPROGRAM_H

#include "ChainOptions.h"
#include <optional>

namespace llmmem::planning {

class ChainProgram {
public:
  /// Tabulates the choices that fit into `most` bytes, resident included.
  ChainProgram(const ChainOptions &options, int64_t most);

  /// Returns the cheapest choice per stage under `capacity` bytes in all, resident included, or
  /// nothing where none fits.
  std::optional<std::vector<int32_t>> choose(int64_t capacity) const;

private:
  struct State {
    int64_t bytes; // the fewest available bytes under which this stage and the later ones run
    int64_t cost;
    int32_t next; // state of the next stage
    int32_t choice;
  };
  static void keepBest(std::vector<State> &states, size_t limit);

  std::vector<std::vector<State>> layers; // per stage: bytes increasing, cost decreasing
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINPROGRAM_H
