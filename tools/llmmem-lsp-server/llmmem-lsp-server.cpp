//===- llmmem-lsp-server.cpp - Diagnostics and names of llm ops, for editors -------===//
//
// mlir-lsp-server with the dialects of llmmem; an editor starts it, and speaks the language server
// protocol on stdin and stdout.
//
//===----------------------------------------------------------------------===//

#include "llmmem/InitAll.h"
#include "llmmem/Support/StartTool.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  llmmem::startTool("llmmem-lsp-server");
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  llmmem::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
