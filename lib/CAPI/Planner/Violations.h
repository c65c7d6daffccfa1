//===- Violations.h - Broken rules as a plain list ------------------------------===//

#ifndef LLMMEM_LIB_CAPI_PLANNER_VIOLATIONS_H
#define LLMMEM_LIB_CAPI_PLANNER_VIOLATIONS_H

#include "llmmem-c/Planner.h"
#include "llmmem/Planning/Model/Verify.h"

namespace llmmem::capi {

/// Returns the list that the caller frees with llmmem_free_violations.
const llmmem_violations *giveViolations(std::vector<planning::Violation> found);

} // namespace llmmem::capi

#endif // LLMMEM_LIB_CAPI_PLANNER_VIOLATIONS_H
