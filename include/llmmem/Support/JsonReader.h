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

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <variant>

namespace llmmem {

/// The key of a member. One that is required must be there.
struct JsonKey {
  JsonKey(const char *name) : name(name) {}
  JsonKey(llvm::StringRef name, bool isRequired = false) : name(name), isRequired(isRequired) {}
  llvm::StringRef name;
  bool isRequired = false;
};
inline JsonKey required(llvm::StringRef name) { return {name, true}; }

/// Describes a member of an object: its key, and where its value goes or what reads it.
struct JsonMember {
  using Target =
      std::variant<int64_t *, double *, bool *, std::string *, llvm::function_ref<bool()>>;

  JsonMember(JsonKey key, int64_t &number, int64_t least = 0)
      : key(key), target(&number), least(least) {}
  JsonMember(JsonKey key, double &number) : key(key), target(&number) {}
  JsonMember(JsonKey key, bool &flag) : key(key), target(&flag) {}
  JsonMember(JsonKey key, std::string &text) : key(key), target(&text) {}
  JsonMember(JsonKey key, llvm::function_ref<bool()> read) : key(key), target(read) {}

  JsonKey key;
  Target target;
  int64_t least = 0; // of an integer
};
using JsonMembers = llvm::ArrayRef<JsonMember>;

/// Returns the word that stands for a value. Files and reports have words for enumerations.
template <typename T, size_t n>
llvm::StringRef wordOf(const std::pair<llvm::StringLiteral, T> (&words)[n], T value) {
  return llvm::find_if(words, [&](const auto &it) { return it.second == value; })->first;
}

class JsonReader {
public:
  /// A byte order mark before the text is skipped, as RFC 8259 lets readers do.
  explicit JsonReader(llvm::StringRef text);

  /// Calls `member` with each key, positioned before its value. A key may be given once.
  bool object(llvm::function_ref<bool(llvm::StringRef key)> member);
  /// Reads an object that has some of these members, and all that are required. Refuses another
  /// key, and names those that are known; says of what is missing that `what` must have it.
  /// Example: members({{required("rows"), rows}, {"columns", columns, 1}}, "a table").
  bool members(JsonMembers known, llvm::StringRef what = "an object");
  /// Reads the value of one member.
  bool member(const JsonMember &member);
  /// Returns whether all required members of some lists are among those that were read. Else fails.
  bool hasRequired(llvm::ArrayRef<JsonMembers> lists, llvm::ArrayRef<const JsonMember *> read,
                   llvm::StringRef what);
  /// Calls `element`, positioned before each element.
  bool array(llvm::function_ref<bool()> element);
  /// Reads a list of exactly these elements, which `what` names, as in "[step, offset]".
  bool elements(llvm::StringRef what, std::initializer_list<llvm::function_ref<bool()>> readers);

  /// Reads one of some words, and sets the value that it stands for.
  template <typename T, size_t n>
  bool word(T &value, const std::pair<llvm::StringLiteral, T> (&words)[n]) {
    std::string text;
    if (!string(text))
      return false;
    for (const auto &[known, meant] : words)
      if (known == text)
        return value = meant, true;
    return failExpecting(llvm::to_vector(llvm::make_first_range(words)));
  }
  /// Reads the name of the format of a file, and its version, from 1 to `latest`.
  bool format(llvm::StringRef expected);
  bool version(int64_t &version, int64_t latest);

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
  bool unknownKey(llvm::StringRef key, JsonMembers known);

  /// Returns the first error, or an error if any text follows the value.
  llvm::Error finish();

private:
  bool failExpecting(llvm::ArrayRef<llvm::StringLiteral> words);
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
