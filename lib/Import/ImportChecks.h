//===- ImportChecks.h - What an import refuses ------------------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_IMPORTCHECKS_H
#define LLMMEM_LIB_IMPORT_IMPORTCHECKS_H

#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Import/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem::importer {

/// Options against their own ranges and against what the model allows.
llvm::Error checkOptions(const ImportOptions &options, const ModelFacts &facts);

/// Whether the parameter is held as `--weights` says: it is read by projections or looked up, and
/// not trained.
bool isHeldInFewerBits(const Parameter &parameter, const ImportOptions &options);
/// What is held in fewer bits: groups divide rows, and there is a kernel for it.
llvm::Error checkHeld(llvm::ArrayRef<Parameter> parameters, const ImportOptions &options,
                      const ModelFacts &facts);

/// A function for inference samples nothing: it has no seed, without which no op can.
llvm::Error checkInference(mlir::func::FuncOp function, const ModelFacts &facts);

/// All values together stay under 2^63 bytes, so that no later sum over some of them can overflow.
/// Comes before `checkGraph`, whose verifiers multiply dimensions without looking.
llvm::Error checkBytes(mlir::func::FuncOp function, const ModelFacts &facts);

/// A graph that does not verify is a fault of the importer, and still must not be handed out.
llvm::Error checkGraph(mlir::ModuleOp module, const ModelFacts &facts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_IMPORTCHECKS_H
