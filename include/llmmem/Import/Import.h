//===- Import.h - From a config.json to a graph -----------------*- C++ -*-===//
//
// `readModel` parses the config, and `buildModule` builds the graph:
//
//   func.func @loss(%ids, %targets, [%seed,] parameters...) -> tensor<f32>     Mode::Train
//   func.func @forward(%ids, parameters...) -> logits                          Mode::Forward
//   func.func @prefill(%ids, %lengths, %counts, [%pages,] parameters..., caches...)
//       -> logits of each sequence's last token, caches...                     Mode::Prefill
//   func.func @decode(%ids, %lengths, [%pages,] parameters..., caches...)
//       -> logits, caches...                                                   Mode::Decode
//
// Targets are the ids shifted by one; the caller shifts them. Every op carries `llm.name`, and the
// ops of a layer carry `llm.block`. Nothing here prints or exits. Errors name the file and the key.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_IMPORT_H
#define LLMMEM_IMPORT_IMPORT_H

#include "llmmem/Import/ImportOptions.h"
#include "llmmem/Import/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmmem::importer {

/// Reads the text of a config.json. Messages name `file`.
llvm::Expected<std::unique_ptr<Model>> readModel(llvm::StringRef text, llvm::StringRef file,
                                                 const ImportOptions &options);

/// Says what places for all choices of experts cost next to those that routing fills. Returns
/// nothing where a step has a bound, or reads one token of a sequence.
std::string placesNote(const ModelFacts &facts, const ImportOptions &options);

/// Lets a step with caches hold weights as a quantized file does, where `options` do not say how
/// and there is such a type.
void holdAsInFile(ImportOptions &options, const ModelFacts &facts);

/// Returns a line of help for each family: the keys that its config needs, and those that are
/// optional.
std::string familyHelp();

/// Lists the parameters of `model` with the adapters and the freezing that the options ask for, in
/// the order of the arguments. Fails where a target or a pattern matches nothing.
llvm::Expected<std::vector<Parameter>> listParameters(const Model &model,
                                                      const ImportOptions &options);

/// Returns the exact number of parameters. A tied head counts once.
llvm::Expected<int64_t> countParameters(const Model &model);
/// Returns how many parameters are trained: those of the adapters where there are any.
llvm::Expected<int64_t> countTrained(const Model &model, const ImportOptions &options);

/// Builds and verifies the graph of `model`. Loads the dialects that it needs into the context.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildModule(mlir::MLIRContext &context, const Model &model, const ImportOptions &options);

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_IMPORT_H
