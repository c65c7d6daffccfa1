//===- StrategyReliefs.h - What would train where no strategy fits ---------===//
//
// Where no strategy fits, a search is made for each change that needs no other model: gradients
// that do not live for the whole step, state in fewer bytes, state on the host, more devices.
//
// Example, Llama-3-70B on 8 devices of 80 GB:
//
//   llmmem-import --gradients transient --master=false --optimizer-state bf16
//   llmmem-opt --optimizer-on=host
//   16 devices
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_STRATEGYRELIEFS_H
#define LLMMEM_STRATEGIES_STRATEGYRELIEFS_H

#include "llmmem/Strategies/StrategySearch.h"

namespace llmmem {

/// Returns the changes under which a strategy was found to fit, each with the best one, modelled
/// from blocks. `module` and `request` are those of a search that found none.
std::vector<StrategyRelief> findStrategyReliefs(mlir::ModuleOp module,
                                                const SearchRequest &request);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_STRATEGYRELIEFS_H
