//===- ProgramFile.cpp - A program from a file ------------------------------===//

#include "llmmem/Pipelines/ProgramFile.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/ProgramText.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace llmmem;

llvm::Expected<std::unique_ptr<ProgramFile>> ProgramFile::parse(MLIRContext &context,
                                                                StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readProgram(path);
  if (!text)
    return text.takeError();
  auto file = std::make_unique<ProgramFile>();
  // A message names its line; below it the whole function would be printed again, thousands of
  // lines.
  context.printOpOnDiagnostic(false);
  file->sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  file->handler = std::make_unique<SourceMgrDiagnosticHandler>(file->sources, &context);
  file->module = parseSourceFile<ModuleOp>(file->sources, &context);
  if (!file->module || failed(checkSizes(*file->module)))
    return llvm::createStringError("'" + path + "' is no program that can be read");
  return std::move(file);
}
