//===- CodeUnits.h - Functions by what their code depends on ----------------===//

#ifndef LLMMEM_LIB_EXECUTION_CODEUNITS_H
#define LLMMEM_LIB_EXECUTION_CODEUNITS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Functions of a module that are compiled apart. Each is renamed to a digest of all that its code
/// depends on: its text, with the functions that it calls under their own such names, and `salt`.
/// So equal functions have one name, whatever step they are of, and whatever they were called.
class CodeUnits {
public:
  /// Renames the functions and tables of `module`; of equal ones the first stays. Fails where a
  /// function calls itself, through others or not.
  static llvm::Expected<CodeUnits> nameIn(mlir::ModuleOp module, llvm::StringRef salt);

  llvm::ArrayRef<std::string> names() const { return digests; }
  /// The new name of a function.
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

/// Of a module of the LLVM dialect each of the functions `names` that has a body: it, which others
/// may call, with the parts and tables that it alone needs, and with declarations of all else.
std::vector<Unit> takeUnits(mlir::ModuleOp lowered, llvm::ArrayRef<std::string> names);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CODEUNITS_H
