//===- TextFile.h - Read and write whole text files ------------------------===//
//
// A reader of an output file sees the old text or the new one, never half of it: the text goes to a
// temporary next to the target, which is then renamed over it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_TEXTFILE_H
#define LLMMEM_SUPPORT_TEXTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace llmmem {

/// Says what is in a file, which decides how much of one is read.
enum class FileKind {
  Description, // of a model, device or cluster, a report, a tokenizer: at most 256 MiB
  Program,     // and a problem, a plan, a proof: at most 4 GiB
  Data         // numbers, text, tensors: as many as there are, in a file
};

/// Reads all of `path`; `-` is stdin. The text is mapped where it is in a file, and ends with a
/// zero that does not count. The error names the file and what failed.
///
/// Files of every kind come to an end, so that no input makes a program hang or fill its memory: a
/// pipe is read where a program writes to it (`-`, a shell's `<(...)`, a FIFO) and until it has
/// written 1 GiB, a FIFO without a writer is refused after two seconds, and folders and devices
/// without an end (/dev/zero) are refused at once. A terminal and /dev/null are read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readTextFile(llvm::StringRef path, FileKind kind = FileKind::Description);

/// Writes `text` to `path` as a whole or not at all; `-` is stdout. A target that is no regular
/// file (a pipe, /dev/null) is written in place.
llvm::Error writeTextFile(llvm::StringRef path, llvm::StringRef text);

/// Does the same for a text in pieces, without copying them.
llvm::Error writePieces(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> pieces);

/// Checks, before a program works for them, what is known about the files that it will write. Fails
/// where two of `paths` are one file (`/dev/null` may be several), where one is a folder, or where
/// the folder of one is missing or may not be written to. An empty path is none.
llvm::Error checkOutputs(llvm::ArrayRef<llvm::StringRef> paths);

/// Writes out what stdout still buffers. A stream with an error that was not read ends the process
/// in LLVM's words; a program that prints line by line calls this function for the error instead.
llvm::Error flushStdout();

/// Returns whether `path` is a terminal and `text` more than a person reads there.
bool floodsTerminal(llvm::StringRef path, llvm::StringRef text);
/// Returns what is said in its place, up to the flag that takes a file: "1.20 MB of program are not
/// printed on a terminal; write them with ".
std::string keptFromTerminal(llvm::StringRef text);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_TEXTFILE_H
