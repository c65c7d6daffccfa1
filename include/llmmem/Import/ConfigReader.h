//===- ConfigReader.h - Typed keys of a config.json -------------*- C++ -*-===//
//
// Families read their keys straight through, without a branch for each error: a key that is missing
// or wrong yields a harmless value, the first complaint is kept, and `takeError` hands it out once
// the family has asked for everything, so that it can list all keys that the family needs.
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
#include <optional>
#include <string>
#include <vector>

namespace llmmem::importer {

/// Parses `text` as one JSON object; `file` is for messages.
llvm::Expected<llvm::json::Object> parseConfig(llvm::StringRef text, llvm::StringRef file);

class ConfigReader {
public:
  /// `where` stands before the keys in messages: empty, or the key of a nested object.
  ConfigReader(const llvm::json::Object &object, llvm::StringRef file, llvm::StringRef where = "")
      : object(object), file(file), where(where) {}

  /// A required integer from 1 to 2^31 - 1, so that products of two of them cannot overflow.
  int64_t positive(llvm::StringRef key);
  /// As `positive`, where a missing key or null means none.
  std::optional<int64_t> optionalPositive(llvm::StringRef key);
  /// An integer from 0 to 2^31 - 1.
  int64_t countOr(llvm::StringRef key, int64_t fallback);
  /// A required positive number.
  double positiveReal(llvm::StringRef key);
  double positiveRealOr(llvm::StringRef key, double fallback);
  /// A positive number; null means none, a missing key `missing`.
  std::optional<double> positiveRealOrNone(llvm::StringRef key,
                                           std::optional<double> missing = std::nullopt);
  /// A required list of positive numbers.
  std::vector<double> positiveReals(llvm::StringRef key);
  /// A number from 0 up.
  double realFromZeroOr(llvm::StringRef key, double fallback);
  /// An optional list of integers from 0 to 2^31 - 1.
  std::vector<int64_t> counts(llvm::StringRef key);
  /// A number p with 0 <= p < 1.
  double probabilityOr(llvm::StringRef key, double fallback);
  bool flagOr(llvm::StringRef key, bool fallback);
  std::optional<std::string> optionalText(llvm::StringRef key);
  std::optional<std::vector<std::string>> optionalTexts(llvm::StringRef key);
  /// A required text, one of `supported`.
  std::string choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> supported);
  /// Refuses every value of an optional flag but `supported`, which is also the public default.
  void onlyFlag(llvm::StringRef key, bool supported);
  /// Refuses every text but `supported`, which is also what a missing key means.
  void onlyText(llvm::StringRef key, llvm::StringRef supported);
  /// Refuses every number but 0, which is also the public default.
  void onlyZero(llvm::StringRef key);
  /// Null where the key is missing or null.
  const llvm::json::Object *optionalObject(llvm::StringRef key);

  /// The key stands in the file, and not as null.
  bool has(llvm::StringRef key) const { return find(key) != nullptr; }
  /// The key stands in the file, be it as null.
  bool mentions(llvm::StringRef key) const { return object.get(key) != nullptr; }
  llvm::StringRef getFile() const { return file; }
  /// The keys asked for so far, those that must be there and the others, in the order of asking.
  llvm::ArrayRef<std::string> requiredKeys() const { return required; }
  std::vector<std::string> optionalKeys() const;

  /// Keeps `message` unless there was an earlier one.
  void fail(const llvm::Twine &message);
  /// Takes over the complaint of a reader of a nested object.
  void absorb(ConfigReader &nested);
  /// The first complaint, with the file's name; `what` needs the keys ("model_type 'gpt2'").
  llvm::Error takeError(llvm::StringRef what);

private:
  /// Null where the key is missing or null.
  const llvm::json::Value *find(llvm::StringRef key) const;
  const llvm::json::Value *require(llvm::StringRef key);
  void expected(llvm::StringRef key, llvm::StringRef what);
  int64_t integer(llvm::StringRef key, int64_t least);
  double real(llvm::StringRef key, bool (*holds)(double), llvm::StringRef what);
  std::string quoted(llvm::StringRef key) const;

  const llvm::json::Object &object;
  std::string file;
  std::string where;
  std::string message;
  bool missing = false; // the message is about a missing key of this object
  llvm::SmallVector<std::string> required;
  mutable std::vector<std::string> asked; // each at least once
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_CONFIGREADER_H
