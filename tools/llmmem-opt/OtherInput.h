//===- OtherInput.h - What was given in the place of a program -------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_OPT_OTHERINPUT_H
#define LLMMEM_TOOLS_LLMMEM_OPT_OTHERINPUT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llmmem {

/// The first op in a text that is written as its own dialect's library prints it, of a dialect that
/// is not registered; empty where there is none.
llvm::StringRef findPrettyOp(llvm::StringRef text,
                             llvm::function_ref<bool(llvm::StringRef)> isRegistered);

/// Says what to do with a text whose first op in its dialect's own form is `op`.
std::string adviseOnPrettyOp(llvm::StringRef op);

/// Returns whether ops of Shardy, which are read without its library, may call functions in their
/// regions. MLIR's verifier takes such an op for a table of symbols of its own and finds no callee.
bool mayCallInRegions(llvm::StringRef text);

/// What a JSON file that was given in the place of a program is for; empty for a program.
std::string findOtherInput(llvm::StringRef file, llvm::StringRef text);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_OPT_OTHERINPUT_H
