//===- ImportChecks.h - What an import refuses ------------------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_IMPORTCHECKS_H
#define LLMMEM_LIB_IMPORT_IMPORTCHECKS_H

#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Import/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem::importer {

/// Checks options against their own ranges and against what the model allows.
llvm::Error checkOptions(const ImportOptions &options, const ModelFacts &facts);

/// Returns whether the parameter has the type of `--weights`: projections read it or it is looked
/// up, and it is not trained.
bool isHeldInFewerBits(const Parameter &parameter, const ImportOptions &options);
/// Checks what has fewer bits: groups divide rows, and there is a kernel for it.
llvm::Error checkHeld(llvm::ArrayRef<Parameter> parameters, const ImportOptions &options,
                      const ModelFacts &facts);

/// A function for inference samples nothing: it has no seed, without which no op can sample.
llvm::Error checkInference(mlir::func::FuncOp function, const ModelFacts &facts);

/// Checks that all values together have less than 2^63 bytes, so that no later sum over some of
/// them can overflow. It runs before `checkGraph`, whose verifiers multiply dimensions without a
/// check.
llvm::Error checkBytes(mlir::func::FuncOp function, const ModelFacts &facts);

/// Reports a graph that does not verify. This is a fault of the importer, and such a graph must not
/// be returned.
llvm::Error checkGraph(mlir::ModuleOp module, const ModelFacts &facts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_IMPORTCHECKS_H
