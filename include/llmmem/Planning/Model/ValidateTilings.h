//===- ValidateTilings.h - Validation of the tilings of a variant -----------===//

#ifndef LLMMEM_PLANNING_MODEL_VALIDATETILINGS_H
#define LLMMEM_PLANNING_MODEL_VALIDATETILINGS_H

#include "llmmem/Planning/Model/VariantSet.h"

namespace llmmem::planning {

/// Returns what is wrong with the tilings of a variant whose problem is valid (validateProblem).
/// The cheapest and largest tiling must come first, as planTilings requires. All tilings must list
/// the same ops, since an op that a tiling leaves out would keep the numbers of the stated tiling.
LLMMEM_EXPORT std::optional<std::string> validateTilings(const ProblemVariant &variant);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_VALIDATETILINGS_H
