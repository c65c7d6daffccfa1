//===- plan-module.cpp - A model in MLIR, planned by llmmem's pipeline ------===//
//
//   plan-module model.mlir 4MB > step.mlir
//
// Exit 0: the program fits, as the pipeline verified; 2: no plan was found; 1: bad input.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: plan-module model.mlir budget\n";
    return 1;
  }
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, llmmem::llm::LlmDialect>();
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;

  llmmem::CheckpointPipelineOptions options;
  options.budget = std::string(argv[2]);
  if (llvm::Error error =
          llmmem::checkOptions(options, [](llvm::StringRef option) { return option.str(); })) {
    llvm::errs() << "plan-module: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  auto outcome = std::make_shared<llmmem::CheckpointOutcome>();
  mlir::PassManager passes(&context);
  llmmem::buildCheckpointPipeline(passes, options, outcome);
  if (mlir::failed(passes.run(*module)))
    return outcome->noPlan ? 2 : 1;
  module->print(llvm::outs());
  llvm::outs() << '\n';
  return 0;
}
