//===- ProgramText.h - Bounds of the text of a program ----------------------===//
//
// MLIR's parser, printer, verifier and passes call themselves for each level of what they are
// given, and the depth of the stack is no error that they report: a text that is nested deeply
// enough ends the process. Some of its lists take time with the square of their length. So a text
// is looked through once before it is parsed, with no more than the rules of its tokens: strings,
// comments, brackets, words.
//
// Example: `[[[[...]]]]` with 501 levels is an error at the place of the bracket that is one too
// many; so is the 501st of `#a1 = [#a0]`, `#a2 = [#a1]`, ..., whose value is as deep.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_PROGRAMTEXT_H
#define LLMMEM_SUPPORT_PROGRAMTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llmmem {

/// Bounds what the text of a program may have. No program that is written for its meaning comes
/// near.
struct ProgramLimits {
  int depth = 500;            // brackets in brackets, aliases in aliases
  int operators = 1000;       // of one affine expression: each is a level of its tree
  int names = 256;            // of the dimensions, symbols or results of an affine map
  int digits = 1000;          // characters of a number, or of a shape's sizes joined by x
  int64_t expanded = 1000000; // words of an alias of aliases, with all that they name written out
};

/// Fails where `text` goes beyond the limits: "file:line:column: what, expected what". Takes time
/// in proportion to the text. Whether it is a program is the parser's to say.
llvm::Error checkProgramText(llvm::StringRef file, llvm::StringRef text,
                             const ProgramLimits &limits = {});

/// Reads a program for MLIR's parser: text within the limits. Bytecode is refused, because its
/// nesting is known only after reading, and the time of MLIR's reader of bytecode grows with the
/// square of the nesting.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readProgram(llvm::StringRef path);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_PROGRAMTEXT_H
