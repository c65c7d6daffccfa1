//===- ConfigReader.h - Typed keys of a config.json -------------*- C++ -*-===//
//
// Families read their keys in sequence, without a branch for each error. A key that is missing or
// wrong yields a harmless value, and the reader keeps the first complaint. `takeError` returns it
// once the family has asked for everything, so the message can list all keys that the family needs.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_CONFIGREADER_H
#define LLMMEM_IMPORT_CONFIGREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmmem::importer {

/// Parses `text` as one JSON object. `NaN`, `Infinity` and `-Infinity`, which Python writes, are
/// read as texts of these names. Messages name `file`, and the line and the column.
llvm::Expected<llvm::json::Object> parseConfig(llvm::StringRef text, llvm::StringRef file);

/// Describes briefly a value of a config.
std::string shortText(const llvm::json::Value &value);

/// Describes a key whose value nothing has read.
struct UnusedKey {
  std::string key;
  std::string name; ///< The key with those of the objects that it is in.
  const llvm::json::Value *value = nullptr;
  const llvm::json::Object *object = nullptr; ///< The object that has the key.
  /// Lists the keys that were asked for in its object and are not there.
  std::shared_ptr<const std::vector<std::string>> missing;
};

/// Reads the keys of one object. It has many methods because each reads one kind of value that a
/// key may have, and all of them keep the first complaint and the list of what was asked for.
class ConfigReader {
public:
  /// `where` precedes the keys in messages: it is empty, or the key of a nested object.
  ConfigReader(const llvm::json::Object &object, llvm::StringRef file, llvm::StringRef where = "")
      : object(object), file(file), where(where) {}

  /// Reads a required integer from 1 to 2^31 - 1, so that products of two of them cannot overflow.
  int64_t positive(llvm::StringRef key);
  /// Reads an integer as `positive` does; a missing key or null means none.
  std::optional<int64_t> optionalPositive(llvm::StringRef key);
  /// Reads an integer from 0 to 2^31 - 1; a missing key means `fallback`.
  int64_t countOr(llvm::StringRef key, int64_t fallback);
  /// Reads a required positive number.
  double positiveReal(llvm::StringRef key);
  double positiveRealOr(llvm::StringRef key, double fallback);
  /// Reads a positive number; null means none, and a missing key means `missing`.
  std::optional<double> positiveRealOrNone(llvm::StringRef key,
                                           std::optional<double> missing = std::nullopt);
  /// Reads a required list of positive numbers.
  std::vector<double> positiveReals(llvm::StringRef key);
  /// Reads a number that is at least 0; a missing key means `fallback`.
  double realFromZeroOr(llvm::StringRef key, double fallback);
  /// Reads an optional list of integers from 0 to 2^31 - 1.
  std::vector<int64_t> counts(llvm::StringRef key);
  /// Reads a number p with 0 <= p < 1; a missing key means `fallback`.
  double probabilityOr(llvm::StringRef key, double fallback);
  bool flagOr(llvm::StringRef key, bool fallback);
  std::optional<std::string> optionalText(llvm::StringRef key);
  std::optional<std::vector<std::string>> optionalTexts(llvm::StringRef key);
  /// Reads a required text that must be one of `supported`.
  std::string choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> supported);
  /// Refuses every value of an optional flag except `supported`, which is also the public default.
  void onlyFlag(llvm::StringRef key, bool supported);
  /// Refuses every text except `supported`, which is also what a missing key means.
  void onlyText(llvm::StringRef key, llvm::StringRef supported);
  /// Refuses every number except 0, which is also the public default.
  void onlyZero(llvm::StringRef key);
  /// Returns null where the key is missing or null.
  const llvm::json::Object *optionalObject(llvm::StringRef key);
  /// Reads a required list of objects.
  std::vector<const llvm::json::Object *> objects(llvm::StringRef key);

  /// Returns whether the file has the key with a value other than null.
  bool has(llvm::StringRef key) const { return find(key) != nullptr; }
  /// Returns whether the file has the key with a text.
  bool hasText(llvm::StringRef key) const {
    const llvm::json::Value *value = find(key);
    return value && value->kind() == llvm::json::Value::String;
  }
  /// Returns whether the file has the key with this number.
  bool isNumber(llvm::StringRef key, double number) const {
    const llvm::json::Value *value = find(key);
    return value && value->getAsNumber() == number;
  }
  /// Returns whether the file has the key, even if its value is null.
  bool mentions(llvm::StringRef key) const { return object.get(key) != nullptr; }
  llvm::StringRef getFile() const { return file; }
  /// Says that these keys mean nothing next to the values of others.
  void dismiss(llvm::ArrayRef<llvm::StringRef> keys);
  /// Lists the keys with a value other than null that were not asked for and not dismissed, those
  /// of absorbed objects as well.
  std::vector<UnusedKey> unusedKeys() const;
  /// Return the required and the optional keys asked for so far, in the order of asking.
  llvm::ArrayRef<std::string> requiredKeys() const { return required; }
  std::vector<std::string> optionalKeys() const;

  /// Returns a key for messages: between quotes, after the objects that it is in.
  std::string quoted(llvm::StringRef key) const;
  /// Keeps `message` unless there was an earlier one.
  void fail(const llvm::Twine &message);
  /// Takes over the complaint and the unused keys of the reader of a nested object.
  void absorb(ConfigReader &nested);
  /// Returns the first complaint, with the file's name. `what` says what needs the keys, for
  /// example "model_type 'gpt2'".
  llvm::Error takeError(llvm::StringRef what);

private:
  /// Returns null where the key is missing or null.
  const llvm::json::Value *find(llvm::StringRef key) const;
  const llvm::json::Value *require(llvm::StringRef key);
  void expected(llvm::StringRef key, llvm::StringRef what);
  int64_t integer(llvm::StringRef key, int64_t least);
  double real(llvm::StringRef key, bool (*holds)(double), llvm::StringRef what);

  const llvm::json::Object &object;
  std::string file;
  std::string where;
  std::string message;
  bool missing = false; // The message is about a missing key of this object.
  llvm::SmallVector<std::string> required;
  mutable std::vector<std::string> asked; // Each key occurs at least once.
  std::vector<std::string> dismissed;
  std::vector<UnusedKey> unusedOfNested;
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_CONFIGREADER_H
