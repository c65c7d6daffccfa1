//===- NumberText.h - Numbers as people read them ---------------------------===//
//
// Programs get integers in ns and bytes. People get three digits and the unit that suits them:
//
//   formatDuration(36'352'390'000)   36.4 s
//   formatDuration(812'340'000)      812 ms
//   formatDuration(9'000'000'000'000)  2 h 30 min
//   formatCount(1'235'814'400)       1,235,814,400
//   counted(1, "step")               1 step
//   counted(4096, "token")           4,096 tokens
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_NUMBERTEXT_H
#define LLMMEM_SUPPORT_NUMBERTEXT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace llmmem {

/// Formats a duration of 0 ns or more.
std::string formatDuration(int64_t ns);

/// Formats a number with a comma between groups of three digits.
std::string formatCount(int64_t number);

/// Returns the number and the noun, with an s unless the number is 1.
std::string counted(int64_t number, llvm::StringRef noun);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_NUMBERTEXT_H
