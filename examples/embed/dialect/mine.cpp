//===- mine.cpp - A step of one's own dialect, planned and lowered -----------===//
//
//   mine step.mlir 81920
//
// Exit 0: the step on buffers is on stdout, and its arena fits; 2: no plan was found; 1: bad input.
//
//===----------------------------------------------------------------------===//

#include "mine.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: mine step.mlir budget\n";
    return 1;
  }
  mlir::DialectRegistry registry;
  registry.insert<mine::MineDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::memref::MemRefDialect, llmmem::llm::LlmDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;

  llmmem::CheckpointPipelineOptions options;
  options.budget = std::string(argv[2]);
  if (llvm::Error error =
          llmmem::checkOptions(options, [](llvm::StringRef option) { return option.str(); })) {
    llvm::errs() << "mine: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  auto outcome = std::make_shared<llmmem::CheckpointOutcome>();
  mlir::PassManager passes(&context);
  llmmem::buildCheckpointPipeline(passes, options, outcome);
  if (mlir::failed(passes.run(*module)))
    return outcome->noPlan ? 2 : 1;
  mine::lower(module->lookupSymbol<mlir::func::FuncOp>("step"));
  module->print(llvm::outs());
  llvm::outs() << '\n';
  return 0;
}
