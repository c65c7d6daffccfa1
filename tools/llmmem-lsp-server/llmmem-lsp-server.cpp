//===- llmmem-lsp-server.cpp - Diagnostics and names of llm ops, for editors -------===//
//
// mlir-lsp-server with the dialects of llmmem; an editor starts it, and speaks the language server
// protocol on stdin and stdout.
//
//===----------------------------------------------------------------------===//

#include "BoundMessages.h"
#include "llmmem/InitAll.h"
#include "llmmem/Support/StartTool.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llmmem::startTool("llmmem-lsp-server");
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  llmmem::registerAllDialects(registry);
  // Tests of MLIR use another framing than editors.
  bool isTest = llvm::any_of(llvm::ArrayRef(argv, argc),
                             [](llvm::StringRef flag) { return flag.ends_with("-lit-test"); });
  if (!isTest && !llmmem::boundMessages()) {
    llvm::errs() << "llmmem-lsp-server: there is no pipe for the editor's messages\n";
    return 1;
  }
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
