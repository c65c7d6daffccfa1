//===- Config.cpp - Whatever config.json is read can be built ----------------------===//

#include "Readers.h"
#include "llmmem/Import/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include <optional>

using namespace llmmem;

/// Where graphs are built. Making a context takes longer than all else here, so only what was read
/// needs one, and many inputs share it: what an input leaves there is uniqued types and attributes,
/// which change no other's graph. They stay, so that a new context follows before they are many.
static mlir::MLIRContext &contextOfGraphs() {
  constexpr int most = 2000;
  static std::optional<mlir::MLIRContext> context;
  static int built = 0;
  if (built++ % most == 0) {
    context.emplace(mlir::MLIRContext::Threading::DISABLED);
    // Verifiers speak through diagnostics; what they say is asked of the returned error.
    context->getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  }
  return *context;
}

/// Reads and builds under these options; a layer or two stand for the many that a config may ask
/// for.
static void import(llvm::StringRef bytes, importer::ImportOptions options) {
  auto model = importer::readModel(bytes, "config.json", options);
  if (!model)
    return fuzz::require(!llvm::toString(model.takeError()).empty());
  if (llvm::Expected<int64_t> count = importer::countParameters(**model))
    fuzz::require(*count > 0);
  else
    llvm::consumeError(count.takeError());
  auto module = importer::buildModule(contextOfGraphs(), **model, options);
  if (!module)
    return fuzz::require(!llvm::toString(module.takeError()).empty());
  fuzz::require(mlir::succeeded(mlir::verify(**module)));
}

void fuzz::readConfig(llvm::StringRef bytes) {
  importer::ImportOptions options;
  options.batch = 2;
  options.seq = 16;
  options.layers = 1;
  import(bytes, options);
  options.layers = 2;
  options.attention = importer::AttentionForm::Unfused;
  options.masks = importer::MaskForm::Stored;
  options.dropout = 0.5;
  options.mode = importer::Mode::Train;
  import(bytes, options);
}
