//===- CodeUnits.h - Functions by what their code depends on ----------------===//

#ifndef LLMMEM_LIB_EXECUTION_CODEUNITS_H
#define LLMMEM_LIB_EXECUTION_CODEUNITS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Splits a module into functions that are compiled separately. Each is renamed to a digest of
/// everything that its code depends on: its text, in which the functions that it calls have such
/// names, too, and `salt`. So equal functions have one name, whatever step they belong to and
/// whatever they were called.
class CodeUnits {
public:
  /// Renames the functions and tables of `module`, and keeps the first of equal ones. Fails where a
  /// function calls itself, directly or through others.
  static llvm::Expected<CodeUnits> nameIn(mlir::ModuleOp module, llvm::StringRef salt);

  llvm::ArrayRef<std::string> names() const { return digests; }
  /// Returns the new name of a function.
  std::string nameOf(llvm::StringRef function) const { return renamed.lookup(function); }

private:
  std::vector<std::string> digests;
  llvm::StringMap<std::string> renamed;
};

/// Leaves a declaration of a function of the func dialect or of the LLVM dialect.
void eraseBody(mlir::ModuleOp module, llvm::StringRef function);

struct Unit {
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Takes from a module of the LLVM dialect each of the functions `names` that has a body. A unit
/// has this function, which others may call, the parts and tables that it alone needs, and
/// declarations of everything else.
std::vector<Unit> takeUnits(mlir::ModuleOp lowered, llvm::ArrayRef<std::string> names);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CODEUNITS_H
