//===- ConfigReader.cpp - Typed keys of a config.json ----------------------===//

#include "llmmem/Import/ConfigReader.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/JsonTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

/// Replaces the numbers that JSON does not have.
static std::string replaceNonNumbers(StringRef text,
                                     llvm::function_ref<std::string(StringRef name)> replacement) {
  std::string replaced;
  bool inString = false;
  while (!text.empty()) {
    size_t length = 1;
    if (inString && text.starts_with("\\"))
      length = 2;
    else if (text.starts_with("\""))
      inString = !inString;
    for (StringRef name : {"NaN", "-Infinity", "Infinity"})
      if (!inString && text.starts_with(name)) {
        replaced += replacement(name);
        text = text.drop_front(name.size());
        length = 0;
        break;
      }
    replaced += text.take_front(length);
    text = text.drop_front(std::min(length, text.size()));
  }
  return replaced;
}

llvm::Expected<json::Object> llmmem::importer::parseConfig(StringRef given, StringRef file) {
  given.consume_front("\xEF\xBB\xBF"); // Editors write this mark; RFC 8259 lets readers skip it.
  if (given.trim().empty())
    return llvm::createStringError(file + ": the file is empty, expected a JSON object with a "
                                          "model's config");
  // The reader says line and column, and refuses a key that is given twice, of which the tree has
  // the last value. Numbers of the same length leave each column what it is in the file.
  const std::string sameLength = replaceNonNumbers(
      given, [](StringRef name) { return "1" + std::string(name.size() - 1, '0'); });
  JsonReader reader(sameLength);
  reader.skip();
  if (llvm::Error error = reader.finish())
    return llvm::createStringError(file + ": " + llvm::toString(std::move(error)));
  llvm::Expected<json::Value> value = parseJsonTree(
      replaceNonNumbers(given, [](StringRef name) { return ("\"" + name + "\"").str(); }));
  if (!value)
    return llvm::createStringError(file + ": " + llvm::toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError(file + ": expected a JSON object with a model's config");
  return std::move(*object);
}

//===----------------------------------------------------------------------===//
// Complaints
//===----------------------------------------------------------------------===//

std::string ConfigReader::quoted(StringRef key) const {
  return where.empty() ? ("'" + key + "'").str() : ("'" + Twine(where) + "." + key + "'").str();
}

void ConfigReader::fail(const Twine &text) {
  if (message.empty())
    message = text.str();
}

void ConfigReader::absorb(ConfigReader &nested) {
  llvm::append_range(unusedOfNested, nested.unusedKeys());
  if (nested.message.empty())
    return;
  if (nested.missing)
    nested.message += "; needed are: " + llvm::join(nested.required, ", ");
  fail(nested.message);
}

llvm::Error ConfigReader::takeError(StringRef what) {
  if (message.empty())
    return llvm::Error::success();
  std::string text = file + ": " + message;
  if (missing) {
    llvm::sort(required);
    text += "; " + what.str() + " needs: " + llvm::join(required, ", ");
  }
  return llvm::createStringError(text);
}

std::string llmmem::importer::shortText(const json::Value &value) {
  constexpr size_t kLongest = 40;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (value.kind() == json::Value::Number && !value.getAsInteger())
    os << llvm::format("%g", *value.getAsNumber());
  else
    os << value;
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

void ConfigReader::expected(StringRef key, StringRef what) {
  fail("key " + quoted(key) + " is " + shortText(*find(key)) + ", expected " + what);
}

//===----------------------------------------------------------------------===//
// Keys that nothing asks for
//===----------------------------------------------------------------------===//

void ConfigReader::dismiss(llvm::ArrayRef<StringRef> keys) {
  for (StringRef key : keys)
    dismissed.push_back(key.str());
}

std::vector<UnusedKey> ConfigReader::unusedKeys() const {
  auto missing = std::make_shared<std::vector<std::string>>();
  llvm::copy_if(asked, std::back_inserter(*missing), [&](StringRef key) { return !mentions(key); });
  std::vector<UnusedKey> unused;
  for (const auto &[key, value] : object) {
    const StringRef name = key;
    if (value.kind() == json::Value::Null || llvm::is_contained(asked, name) ||
        llvm::is_contained(dismissed, name))
      continue;
    unused.push_back(
        {name.str(), StringRef(quoted(name)).trim('\'').str(), &value, &object, missing});
  }
  llvm::sort(unused, [](const auto &a, const auto &b) { return a.name < b.name; });
  llvm::append_range(unused, unusedOfNested);
  return unused;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const json::Value *ConfigReader::find(StringRef key) const {
  if (!llvm::is_contained(asked, key))
    asked.push_back(key.str());
  const json::Value *value = object.get(key);
  return value && value->kind() != json::Value::Null ? value : nullptr;
}

std::vector<std::string> ConfigReader::optionalKeys() const {
  std::vector<std::string> keys;
  llvm::copy_if(asked, std::back_inserter(keys),
                [&](const std::string &key) { return !llvm::is_contained(required, key); });
  return keys;
}

const json::Value *ConfigReader::require(StringRef key) {
  if (!llvm::is_contained(required, key))
    required.push_back(key.str());
  const json::Value *value = find(key);
  if (!value && message.empty()) {
    fail("missing key " + quoted(key));
    missing = true;
  }
  return value;
}

int64_t ConfigReader::integer(StringRef key, int64_t least) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  std::optional<int64_t> number = find(key)->getAsInteger();
  if (number && *number >= least && *number <= kLargest)
    return *number;
  expected(key, "an integer from " + std::to_string(least) + " to " + std::to_string(kLargest));
  return 1;
}

int64_t ConfigReader::positive(StringRef key) { return require(key) ? integer(key, 1) : 1; }

std::optional<int64_t> ConfigReader::optionalPositive(StringRef key) {
  return find(key) ? std::optional(integer(key, 1)) : std::nullopt;
}

int64_t ConfigReader::countOr(StringRef key, int64_t fallback) {
  return find(key) ? integer(key, 0) : fallback;
}

double ConfigReader::real(StringRef key, bool (*holds)(double), StringRef what) {
  std::optional<double> number = find(key)->getAsNumber();
  if (number && std::isfinite(*number) && holds(*number))
    return *number;
  expected(key, what);
  return 0.5; // This is positive, and a probability.
}

double ConfigReader::positiveRealOr(StringRef key, double fallback) {
  return find(key) ? real(key, [](double x) { return x > 0; }, "a positive number") : fallback;
}

std::optional<double> ConfigReader::positiveRealOrNone(StringRef key,
                                                       std::optional<double> missing) {
  if (!has(key))
    return mentions(key) ? std::nullopt : missing;
  return positiveRealOr(key, 0);
}

std::vector<double> ConfigReader::positiveReals(StringRef key) {
  const json::Value *value = require(key);
  const json::Array *array = value ? value->getAsArray() : nullptr;
  std::vector<double> numbers;
  for (const json::Value &element : array ? *array : json::Array())
    if (std::optional<double> number = element.getAsNumber();
        number && std::isfinite(*number) && *number > 0)
      numbers.push_back(*number);
  if (value && (!array || numbers.size() != array->size()))
    expected(key, "a list of positive numbers");
  return numbers;
}

double ConfigReader::realFromZeroOr(StringRef key, double fallback) {
  return find(key) ? real(key, [](double x) { return x >= 0; }, "a number from 0 up") : fallback;
}

std::vector<int64_t> ConfigReader::counts(StringRef key) {
  const json::Value *value = find(key);
  const json::Array *array = value ? value->getAsArray() : nullptr;
  std::vector<int64_t> numbers;
  for (const json::Value &element : array ? *array : json::Array())
    if (std::optional<int64_t> number = element.getAsInteger();
        number && *number >= 0 && *number <= std::numeric_limits<int32_t>::max())
      numbers.push_back(*number);
  if (value && (!array || numbers.size() != array->size()))
    expected(key, "a list of integers from 0 up");
  return numbers;
}

double ConfigReader::positiveReal(StringRef key) {
  return require(key) ? positiveRealOr(key, 0) : 1;
}

double ConfigReader::probabilityOr(StringRef key, double fallback) {
  auto holds = [](double x) { return x >= 0 && x < 1; };
  return find(key) ? real(key, holds, "a probability p with 0 <= p < 1") : fallback;
}

bool ConfigReader::flagOr(StringRef key, bool fallback) {
  const json::Value *value = find(key);
  if (!value)
    return fallback;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  expected(key, "true or false");
  return fallback;
}

void ConfigReader::onlyFlag(StringRef key, bool supported) {
  if (flagOr(key, supported) != supported)
    expected(key,
             supported ? "true; nothing else is supported" : "false; nothing else is supported");
}

void ConfigReader::onlyText(StringRef key, StringRef supported) {
  if (optionalText(key).value_or(supported.str()) != supported)
    expected(key, supported.str() + "; nothing else is supported");
}

void ConfigReader::onlyZero(StringRef key) {
  if (realFromZeroOr(key, 0) != 0)
    expected(key, "0; nothing else is supported");
}

std::optional<std::string> ConfigReader::optionalText(StringRef key) {
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  expected(key, "a text");
  return std::nullopt;
}

std::optional<std::vector<std::string>> ConfigReader::optionalTexts(StringRef key) {
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  std::vector<std::string> texts;
  const json::Array *array = value->getAsArray();
  for (const json::Value &element : array ? *array : json::Array())
    if (std::optional<StringRef> text = element.getAsString())
      texts.push_back(text->str());
  if (!array || texts.size() != array->size())
    expected(key, "a list of texts");
  return texts;
}

std::string ConfigReader::choice(StringRef key, llvm::ArrayRef<StringRef> supported) {
  if (!require(key))
    return "";
  std::optional<StringRef> text = find(key)->getAsString();
  if (text && llvm::is_contained(supported, *text))
    return text->str();
  expected(key, "one of " + llvm::join(supported, ", "));
  return "";
}

std::vector<const json::Object *> ConfigReader::objects(StringRef key) {
  const json::Value *value = require(key);
  const json::Array *array = value ? value->getAsArray() : nullptr;
  std::vector<const json::Object *> list;
  if (array)
    for (const json::Value &element : *array)
      if (const json::Object *nested = element.getAsObject())
        list.push_back(nested);
  if (value && (!array || list.size() != array->size()))
    expected(key, "a list of objects");
  return list;
}

const json::Object *ConfigReader::optionalObject(StringRef key) {
  const json::Value *value = find(key);
  if (!value)
    return nullptr;
  if (const json::Object *nested = value->getAsObject())
    return nested;
  expected(key, "an object or null");
  return nullptr;
}
