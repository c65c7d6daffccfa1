//===- LibraryRunner.h - Runs ops by a library of products, alone ----------===//
//
// An op alone in a step of its own, lowered for cuBLASLt, and run against a library that computes
// what cuBLASLt is documented to compute, on host memory. The op has no generated kernel, so
// nothing else needs to run.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_CUDA_LIBRARYRUNNER_H
#define LLMMEM_UNITTESTS_CUDA_LIBRARYRUNNER_H

#include "Execution/StepRunner.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem::test {

/// A module whose @step is `op` alone, on arguments that are its operands. Of discardable
/// attributes it keeps the library's workspace.
std::string stepOf(mlir::Operation *op);

/// The results of @step in `text`, which is one op; nothing if it has a generated kernel.
std::optional<std::vector<Numbers>> runByLibrary(const std::string &text,
                                                 const std::vector<Numbers> &arguments);

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_CUDA_LIBRARYRUNNER_H
