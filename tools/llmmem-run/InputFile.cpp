//===- InputFile.cpp - A program to run, and what its diagnostics quote -----===//

#include "InputFile.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/Sizes.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/Parser/Parser.h"

using namespace llmmem;

llvm::Expected<std::unique_ptr<InputFile>> InputFile::read(mlir::MLIRContext &context,
                                                           llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readTextFile(path);
  if (!text)
    return text.takeError();
  auto file = std::make_unique<InputFile>();
  // A message names its line; below it the whole function would be printed again, thousands of
  // lines.
  context.printOpOnDiagnostic(false);
  file->sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  file->handler = std::make_unique<mlir::SourceMgrDiagnosticHandler>(file->sources, &context);
  file->module = mlir::parseSourceFile<mlir::ModuleOp>(file->sources, &context);
  if (!file->module || failed(checkSizes(*file->module)))
    return llvm::createStringError("'" + path + "' is no program that can be read");
  file->function = findStep(*file->module);
  if (!file->function)
    return llvm::createStringError("'" + path + "' has no function @step or @forward");
  return std::move(file);
}

bool InputFile::keepsCaches() { return function->hasAttr(llm::LlmDialect::kContext); }
