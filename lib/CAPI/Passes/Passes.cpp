//===- Passes.cpp - llmmem's passes on modules of MLIR's C interface ------------===//

#include "llmmem-c/Passes.h"
#include "Register.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace llmmem;
using namespace llmmem::capi;

void llmmem_register_dialects(MlirDialectRegistry registry) { registerDialects(*unwrap(registry)); }

namespace {

/// Keeps the errors of a context, with their places and notes, as text; leaves warnings and remarks
/// to the handlers of the program.
class ErrorTexts {
public:
  explicit ErrorTexts(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) { return take(diagnostic); }) {}

  const std::string &text() const { return lines; }

private:
  llvm::LogicalResult take(mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
      return mlir::failure();
    llvm::raw_string_ostream os(lines);
    os << (lines.empty() ? "" : "\n") << diagnostic.getLocation() << ": error: " << diagnostic;
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      os << '\n' << note.getLocation() << ": note: " << note;
    return mlir::success();
  }

  std::string lines;
  mlir::ScopedDiagnosticHandler handler;
};

/// Runs on a copy, which replaces the body of `module` where all passes succeed.
llvm::LogicalResult runOnCopy(mlir::PassManager &passes, mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  if (mlir::failed(passes.run(*copy)))
    return mlir::failure();
  module.getBodyRegion().takeBody(copy->getBodyRegion());
  module->setDiscardableAttrs(copy->getOperation()->getDiscardableAttrDictionary());
  return mlir::success();
}

/// Reads the options of the pipeline from their text and checks them; returns the error if there is
/// one.
std::optional<std::string> readOptions(const char *text, CheckpointPipelineOptions &options) {
  std::string errors;
  llvm::raw_string_ostream os(errors);
  if (mlir::failed(options.parseFromString(text, os)))
    return "options: " + llvm::StringRef(errors).trim().str();
  if (llvm::Error error =
          checkOptions(options, [](llvm::StringRef option) { return option.str(); }))
    return "options: " + llvm::toString(std::move(error));
  return std::nullopt;
}

} // namespace

llmmem_result llmmem_checkpoint_module(MlirModule module, const char *text,
                                       llmmem_checkpoint_outcome *outcome, char **error) {
  clear(error);
  if (mlirModuleIsNull(module))
    return invalid(error, "module: is null");
  if (outcome)
    if (Result<llmmem_checkpoint_outcome> taken = take(outcome, "outcome"); !taken)
      return invalid(error, taken.error());
  CheckpointPipelineOptions options;
  if (std::optional<std::string> wrong = readOptions(text ? text : "", options))
    return invalid(error, *wrong);

  mlir::MLIRContext *context = unwrap(module).getContext();
  ErrorTexts errors(context);
  auto found = std::make_shared<CheckpointOutcome>();
  mlir::PassManager passes(context);
  buildCheckpointPipeline(passes, options, found);
  const bool ran = mlir::succeeded(runOnCopy(passes, unwrap(module)));
  if (outcome) {
    outcome->seconds = found->seconds;
    outcome->least_peak = found->least.peak;
    outcome->least_budget = found->least.budget;
    outcome->peak_lower_bound = found->least.peakLowerBound;
  }
  if (ran)
    return LLMMEM_OK;
  return fail(found->noPlan ? LLMMEM_NO_PLAN : LLMMEM_INVALID, error, errors.text());
}

llmmem_result llmmem_run_passes(MlirModule module, const char *pipeline, char **error) {
  clear(error);
  if (mlirModuleIsNull(module))
    return invalid(error, "module: is null");
  if (!pipeline)
    return invalid(error, "pipeline: is NULL");
  // MLIR keeps one list of passes for the process, without a lock: the first call enters ours.
  [[maybe_unused]] static const bool entered = (registerPasses(), true);
  std::string wrong;
  llvm::raw_string_ostream os(wrong);
  mlir::FailureOr<mlir::OpPassManager> parsed = mlir::parsePassPipeline(pipeline, os);
  if (mlir::failed(parsed))
    return invalid(error, "pipeline: " + wrong);
  if (parsed->getOpAnchorName() != mlir::ModuleOp::getOperationName())
    return invalid(error, "pipeline: expected builtin.module(...)");

  mlir::MLIRContext *context = unwrap(module).getContext();
  ErrorTexts errors(context);
  mlir::PassManager passes(context);
  static_cast<mlir::OpPassManager &>(passes) = std::move(*parsed);
  if (mlir::succeeded(runOnCopy(passes, unwrap(module))))
    return LLMMEM_OK;
  return invalid(error, errors.text());
}
