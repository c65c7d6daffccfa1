//===- CompareRanks.h - What a run needs alike on all ranks -----------------===//
//
// All ranks of a job call these in this order, and all fail with RanksDiffer where one has another
// step, flag or file. With one rank nothing is compared, and no file is read.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_COMPARERANKS_H
#define LLMMEM_TOOLS_LLMMEM_RUN_COMPARERANKS_H

#include "RunOptions.h"
#include "llmmem/Execution/StepFeed.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Compares the programs with their plans, and every flag that changes what is computed, written or
/// said between ranks. Threads, folders and libraries may differ from machine to machine.
llvm::Error compareSteps(llvm::ArrayRef<mlir::func::FuncOp> steps, const RunOptions &options);

/// Compares what batches are taken from, of the files of `options`, and what multiplies matrices.
llvm::Error compareData(const StepFeed &feed, llvm::StringRef products, const RunOptions &options);

/// Compares what --load or --resume has read.
llvm::Error compareCheckpoints(const SafeTensors &file, llvm::StringRef path);

/// Compares the tokens of prompts.
llvm::Error comparePrompts(llvm::ArrayRef<std::vector<int32_t>> prompts, int64_t choices);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_COMPARERANKS_H
