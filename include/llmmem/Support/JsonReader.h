//===- JsonReader.h - A strict reader of JSON of a known shape --------------===//
//
// Reads front to back without building a tree. llvm::json, which writes our files, is not strict
// enough to read them: it takes 1e3 and 2.0 for integers, lets a key stand twice, recurses as deep
// as the text says, and forgets where a value stood. Here every error carries line, column and
// path.
//
// A caller that gets `false` returns `false`: the first error is kept and the rest is not read.
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
  explicit JsonReader(llvm::StringRef text) : text(text), rest(text) {}

  /// Calls `member` with each key, standing before its value. Keys may stand once.
  bool object(llvm::function_ref<bool(llvm::StringRef key)> member);
  /// Calls `element` standing before each element.
  bool array(llvm::function_ref<bool()> element);

  bool integer(int64_t &number, int64_t least = 0);
  bool real(double &number);
  bool boolean(bool &flag);
  bool string(std::string &value);
  bool null(); // true, and read, where a null stands; false without an error otherwise

  /// Refuses `what`, with the place read last. Always false.
  bool fail(const llvm::Twine &what);
  /// An unknown key: names those that are known.
  bool unknownKey(llvm::StringRef key, llvm::StringRef known);

  /// The error, if there was one, or that something follows the value.
  llvm::Error finish();

private:
  void skipSpace();
  bool stringToken(llvm::StringRef &token);
  bool decode(llvm::StringRef token, std::string &value);

  llvm::StringRef text;
  llvm::StringRef rest;
  llvm::StringRef last; // begins at the token read last
  std::string path;
  std::string message;
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_JSONREADER_H
