//===- StageOptions.h - Options with a part for each pipeline stage -----------===//
//
// Stages may run on devices of different memory and speed: `80GB,40GB` is a budget for each of two,
// `a.json,b.json` a device table. One alone is for all.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_STAGEOPTIONS_H
#define LLMMEM_TRANSFORMS_STAGEOPTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Returns the parts of an option, at least one.
llvm::SmallVector<llvm::StringRef> partsOfStages(llvm::StringRef option);

/// Returns the part of a stage, or the only one; the last where there are fewer.
llvm::StringRef partOfStage(llvm::StringRef option, int64_t stage);

/// Returns the part of the stage that `function` is the step of; of any other function the first.
llvm::StringRef partOfStage(llvm::StringRef option, mlir::func::FuncOp function);

/// Returns the error of an option that has neither one part nor one for each of `stages` (0: none);
/// `name` is how the user writes it.
llvm::Error checkPartsOfStages(llvm::StringRef name, llvm::StringRef option, int64_t stages);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STAGEOPTIONS_H
