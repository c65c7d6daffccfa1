//===- ExplainRepeats.h - Why a step runs ------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_FORMATS_EXPLAINREPEATS_H
#define LLMMEM_LIB_PLANNING_FORMATS_EXPLAINREPEATS_H

#include "llmmem/Planning/Formats/Explain.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {

std::string nameOf(const Problem &problem, ValueIndex value);

/// Returns what step:N asks for, or an error where `number` is none of the plan's steps.
Result<std::string> explainStep(const Problem &problem, const Plan &plan, llvm::StringRef number);
/// Prints a line or two for each step that writes `value` again.
void printRepeatsOf(const Problem &problem, const Plan &plan, ValueIndex value,
                    llvm::raw_ostream &os);
/// Prints which searcher made the schedule, where the plan says so. A plan that was read from a
/// file does not.
void printSearcher(const Plan &plan, llvm::raw_ostream &os);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_FORMATS_EXPLAINREPEATS_H
