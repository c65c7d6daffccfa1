//===- ChainProgram.h - The best option for every part ------------------------===//
//
// A dynamic programme over the chain. While part i runs, forward or backward, the parts before it
// hold what their options hold, and part i needs its own peak beside that. So what parts i.. cost
// is a function of the room that is left to them: an option takes its peak's room while it runs,
// and leaves the others the room less what it holds. One table answers for every capacity. Exact up
// to the thinning of long tables.
//
// Example: two parts with options (cost 0, held 10, peaks 10) and (cost 1, held 2, peaks 10),
// capacity 12: the first part takes the second option (2 + 10 fits), the second keeps.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINPROGRAM_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINPROGRAM_H

#include "ChainOptions.h"
#include <optional>

namespace llmmem::planning {

class ChainProgram {
public:
  /// Tabulates what fits into `most` bytes, resident included.
  ChainProgram(const ChainOptions &options, int64_t most);

  /// The cheapest choice per part under `capacity` bytes in all, resident included; nothing where
  /// none fits.
  std::optional<std::vector<int32_t>> choose(int64_t capacity) const;

private:
  struct State {
    int64_t room; // the least that lets this part and the later ones run
    int64_t cost;
    int32_t next; // state of the part after
    int32_t choice;
  };
  static void keepBest(std::vector<State> &states, size_t limit);

  std::vector<std::vector<State>> layers; // per part: room growing, cost falling
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINPROGRAM_H
