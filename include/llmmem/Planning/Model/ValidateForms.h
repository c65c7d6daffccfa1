//===- ValidateForms.h - What a form must hold ------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_VALIDATEFORMS_H
#define LLMMEM_PLANNING_MODEL_VALIDATEFORMS_H

#include "llmmem/Planning/Model/StepForms.h"

namespace llmmem::planning {

/// Says what is wrong with the tilings of a form whose problem is valid (validateProblem).
/// planTilings needs the cheapest and largest tiling first. A tiling that leaves an op out would
/// take that op as the file happens to state it.
LLMMEM_EXPORT std::optional<std::string> validateTilings(const AlternativeProblem &form);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_VALIDATEFORMS_H
