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
#include <variant>

namespace llmmem {

/// Describes a member of an object: its key, and where its value goes or what reads it.
struct JsonMember {
  using Target =
      std::variant<int64_t *, double *, bool *, std::string *, llvm::function_ref<bool()>>;

  JsonMember(llvm::StringRef key, int64_t &number, int64_t least = 0)
      : key(key), target(&number), least(least) {}
  JsonMember(llvm::StringRef key, double &number) : key(key), target(&number) {}
  JsonMember(llvm::StringRef key, bool &flag) : key(key), target(&flag) {}
  JsonMember(llvm::StringRef key, std::string &text) : key(key), target(&text) {}
  JsonMember(llvm::StringRef key, llvm::function_ref<bool()> read) : key(key), target(read) {}

  llvm::StringRef key;
  Target target;
  int64_t least = 0; // of an integer
};

class JsonReader {
public:
  /// A byte order mark before the text is skipped, as RFC 8259 lets readers do.
  explicit JsonReader(llvm::StringRef text);

  /// Calls `member` with each key, positioned before its value. A key may be given once.
  bool object(llvm::function_ref<bool(llvm::StringRef key)> member);
  /// Reads an object that has some of these members. Refuses another key, and names those that are
  /// known. Example: members({{"rows", rows}, {"columns", columns, 1}}).
  bool members(std::initializer_list<JsonMember> known);
  /// Reads the value of one member.
  bool member(const JsonMember &member);
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
