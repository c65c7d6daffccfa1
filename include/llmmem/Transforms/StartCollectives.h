//===- StartCollectives.h - What runs with other ops -----------------------===//
//
// `startCollectives` makes a start and a wait of each collective of a planned step, by the rules of
// the makespan (Planning/Model/Plan.h). It starts as early as they allow, after the last op that
//
//   - makes what it reads,
//   - uses bytes that it writes or takes as workspace, in the arena or in an argument, or
//   - is another start,
//
// and is waited for as late as they allow: before the first op that
//
//   - reads its result, or
//   - writes bytes that it reads, writes or takes as workspace,
//
// and before the step ends. Started collectives wait for none: all of them run one after another,
// in the order of the text, and so do their waits.
//
// `startHostCopies` does the same with copies to and from the host and with updates that run there.
// Device-to-host copies are a queue of their own, and so are host-to-device copies and updates.
// Within a queue one runs after another, while a copy that reads what one of the other queue gives,
// or writes bytes that it uses, comes after its wait.
//
// Example, with %f, %g and %h in other bytes than %x and %sum:
//
//   %f = llm.silu %y                          %sum = llm.all_reduce %x over ["dp"] {llm.started}
//   %sum = llm.all_reduce %x over ["dp"]      %f = llm.silu %y
//   %g = llm.gelu %f                          %g = llm.gelu %f
//   %h = llm.add %sum, %g                     %s = llm.wait %sum
//                                             %h = llm.add %s, %g
//
// Offsets and arena stay as they are: what is in flight keeps its bytes because it starts when they
// are free, and whatever overwrites them waits. The peak, `llm.peak`, is that of the new order: it
// counts what is in flight, and never exceeds resident bytes and arena.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_STARTCOLLECTIVES_H
#define LLMMEM_TRANSFORMS_STARTCOLLECTIVES_H

#include "llmmem/Layout/StepStorage.h"

namespace llmmem {

/// Starts the collectives over more than one rank and returns their number. Fails, after a located
/// diagnostic, where the step has no offsets, or has starts already.
llvm::FailureOr<int64_t> startCollectives(mlir::func::FuncOp step, const StepStorage &storage);

/// Starts the copies between the device and the host, and updates on it, as above.
llvm::FailureOr<int64_t> startHostCopies(mlir::func::FuncOp step, const StepStorage &storage);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STARTCOLLECTIVES_H
