//===- StartCollectives.h - Collectives that run beside other ops ----------===//
//
// `startCollectives` makes a start and a wait of each collective of a planned step: it starts where
// it stands, and is waited for as late as the rules of the makespan allow (Planning/Model/Plan.h):
// before the first op that
//
//   - reads its result, or
//   - writes bytes that it reads, writes or takes as workspace, in the arena or in an argument,
//
// and before the step ends. Other started collectives wait for none: all of them run one after
// another, in the order of the text, and so do their waits.
//
// Example, with %g and %h in other bytes than %x and %sum:
//
//   %sum = llm.all_reduce %x over ["dp"]      %sum = llm.all_reduce %x over ["dp"] {llm.started}
//   %g = llm.gelu %y                          %g = llm.gelu %y
//   %h = llm.add %sum, %g                     %s = llm.wait %sum
//                                             %h = llm.add %s, %g
//
// No offset, no live range and no peak changes: what is in flight keeps its bytes because whatever
// overwrites them waits.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_STARTCOLLECTIVES_H
#define LLMMEM_TRANSFORMS_STARTCOLLECTIVES_H

#include "llmmem/Analysis/StepStorage.h"

namespace llmmem {

/// Starts the collectives over more than one rank and returns their number. Fails, after a located
/// diagnostic, where the step has no offsets, or has starts already.
llvm::FailureOr<int64_t> startCollectives(mlir::func::FuncOp step, const StepStorage &storage);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STARTCOLLECTIVES_H
