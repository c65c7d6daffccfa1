//===- LibraryRunner.h - Runs ops by a library of products, alone ----------===//
//
// An op alone in a step of its own, lowered for cuBLASLt, and run against a library that computes
// what cuBLASLt is documented to compute, on the memory of a driver that is the host's. A library
// sees no other kernel, so nothing else needs to run.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_CUDA_LIBRARYRUNNER_H
#define LLMMEM_UNITTESTS_CUDA_LIBRARYRUNNER_H

#include "Execution/StepRunner.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem::test {

/// A module whose @step is `op` alone, on arguments that are its operands. Of the notes of passes
/// it keeps what a library may have.
std::string stepOf(mlir::Operation *op);

/// The results of @step in `text`, which is one op; nothing where it has a kernel of ours.
std::optional<std::vector<Numbers>> runByLibrary(const std::string &text,
                                                 const std::vector<Numbers> &arguments);

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_CUDA_LIBRARYRUNNER_H
