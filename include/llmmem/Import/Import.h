//===- Import.h - From a config.json to a graph -----------------*- C++ -*-===//
//
// `readModel` understands the config, `buildModule` writes the graph:
//
//   func.func @loss(%ids, %targets, [%seed,] parameters...) -> tensor<f32>     Mode::Train
//   func.func @forward(%ids, parameters...) -> logits                          Mode::Forward
//   func.func @prefill(%ids, %lengths, %counts, [%pages,] parameters..., caches...)
//       -> logits of each sequence's last token, caches...                     Mode::Prefill
//   func.func @decode(%ids, %lengths, [%pages,] parameters..., caches...)
//       -> logits, caches...                                                   Mode::Decode
//
// Targets are the ids shifted by whoever feeds them. Every op carries `llm.name`, ops of a layer
// `llm.block`. Nothing here prints or exits; errors name the file and the key.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_IMPORT_H
#define LLMMEM_IMPORT_IMPORT_H

#include "llmmem/Import/ImportOptions.h"
#include "llmmem/Import/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmmem::importer {

/// Reads the text of a config.json; `file` is for messages.
llvm::Expected<std::unique_ptr<Model>> readModel(llvm::StringRef text, llvm::StringRef file,
                                                 const ImportOptions &options);

/// A line for each family, for help: the keys that its config needs, and those that it may have.
std::string familyHelp();

/// The parameters of `model` with the adapters and the freezing that the options ask for, in the
/// order of the arguments. Fails where a target or a pattern names nothing.
llvm::Expected<std::vector<Parameter>> listParameters(const Model &model,
                                                      const ImportOptions &options);

/// The exact number of parameters; a tied head counts once.
llvm::Expected<int64_t> countParameters(const Model &model);
/// Of them those that are trained, which are the adapters where there are any.
llvm::Expected<int64_t> countTrained(const Model &model, const ImportOptions &options);

/// Builds and verifies the graph of `model`. The context is given the dialects that it needs.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildModule(mlir::MLIRContext &context, const Model &model, const ImportOptions &options);

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_IMPORT_H
