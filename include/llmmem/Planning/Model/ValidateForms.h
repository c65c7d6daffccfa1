//===- ValidateForms.h - What a form must hold ------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_VALIDATEFORMS_H
#define LLMMEM_PLANNING_MODEL_VALIDATEFORMS_H

#include "llmmem/Planning/Model/StepForms.h"

namespace llmmem::planning {

/// What is wrong with the tilings of a form whose problem is valid (validateProblem): planTilings
/// wants the cheapest and largest first, and a tiling that leaves an op out would have it as the
/// file happens to state it.
LLMMEM_EXPORT std::optional<std::string> validateTilings(const AlternativeProblem &form);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_VALIDATEFORMS_H
