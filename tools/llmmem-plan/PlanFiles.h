//===- PlanFiles.h - A plan for other programs ---------------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_PLAN_PLANFILES_H
#define LLMMEM_TOOLS_LLMMEM_PLAN_PLANFILES_H

#include "llmmem/Planning/Model/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llmmem::planning {

/// Where to write; an empty path writes nothing. profile: the profile of the step that ran, whose
/// times are taken; where it is empty, times are those of the plan's costs.
struct PlanFiles {
  llvm::StringRef timeline, trace, profile;
};

/// Writes what is asked for of a verified plan; nothing of one without steps.
llvm::Error writePlanFiles(const Problem &problem, const Plan &plan, const PlanFiles &files);

} // namespace llmmem::planning

#endif // LLMMEM_TOOLS_LLMMEM_PLAN_PLANFILES_H
