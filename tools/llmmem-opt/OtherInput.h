//===- OtherInput.h - What was given in the place of a program -------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_OPT_OTHERINPUT_H
#define LLMMEM_TOOLS_LLMMEM_OPT_OTHERINPUT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llmmem {

/// The first op in a text that is written as its own dialect's library prints it, of dialects that
/// llmmem reads without one; empty where there is none.
llvm::StringRef findPrettyOp(llvm::StringRef text);

/// What a JSON file that was given in the place of a program is for; empty for a program.
std::string findOtherInput(llvm::StringRef file, llvm::StringRef text);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_OPT_OTHERINPUT_H
