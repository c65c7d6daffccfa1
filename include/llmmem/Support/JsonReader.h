//===- JsonReader.h - A strict reader of JSON of a known shape --------------===//
//
// The reader goes from front to back without building a tree. llvm::json, which writes our files,
// is not strict enough to read them: it accepts 1e3 and 2.0 as integers and repeated keys, recurses
// as deep as the text, and does not keep the position of a value. Here every error has a line, a
// column and a path.
//
// A caller that gets `false` must return `false`: the first error is kept and the remaining text is
// not read.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_JSONREADER_H
#define LLMMEM_SUPPORT_JSONREADER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace llmmem {

class JsonReader {
public:
  /// A byte order mark before the text is skipped, as RFC 8259 lets readers do.
  explicit JsonReader(llvm::StringRef text);

  /// Calls `member` with each key, positioned before its value. A key may be given once.
  bool object(llvm::function_ref<bool(llvm::StringRef key)> member);
  /// Calls `element`, positioned before each element.
  bool array(llvm::function_ref<bool()> element);

  bool integer(int64_t &number, int64_t least = 0);
  bool real(double &number);
  bool boolean(bool &flag);
  bool string(std::string &value);
  /// Reads any value of at most 64 levels, in which each key of an object may be given once.
  bool skip();
  bool null(); // reads a null and returns true; false without an error if there is none

  /// Records the error `what` at the place read last. Always returns false.
  bool fail(const llvm::Twine &what);
  /// Refuses an unknown key, and names those that are known.
  bool unknownKey(llvm::StringRef key, llvm::StringRef known);

  /// Returns the first error, or an error if any text follows the value.
  llvm::Error finish();

private:
  bool skipValue();
  void skipSpace();
  bool stringToken(llvm::StringRef &token);
  bool decode(llvm::StringRef token, std::string &value);

  llvm::StringRef text;
  llvm::StringRef remaining;
  llvm::StringRef last; // begins at the token read last
  std::string path;
  std::string message;
  int skipped = 0; // levels of the value that is skipped
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_JSONREADER_H
