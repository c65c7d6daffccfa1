//===- InputFile.cpp - A program to run, and what its diagnostics quote -----===//

#include "InputFile.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmDialect.h"

using namespace llmmem;

llvm::Expected<std::unique_ptr<InputFile>> InputFile::read(mlir::MLIRContext &context,
                                                           llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<ProgramFile>> program = ProgramFile::parse(context, path);
  if (!program)
    return program.takeError();
  auto file = std::make_unique<InputFile>();
  file->program = std::move(*program);
  file->function = findStep(*file->program->module);
  if (!file->function)
    return llvm::createStringError("'" + path + "' has no function @step or @forward");
  return std::move(file);
}

bool InputFile::keepsCaches() { return function->hasAttr(llm::LlmDialect::kContext); }
