//===- JsonReader.cpp - A strict reader of JSON of a known shape ------------===//

#include "llmmem/Support/JsonReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace llmmem {

JsonReader::JsonReader(llvm::StringRef text) : text(text), remaining(text) {
  remaining.consume_front("\xEF\xBB\xBF");
}

void JsonReader::skipSpace() {
  // This is not ltrim, which makes a set of the characters first: there is mostly none to skip.
  remaining =
      remaining.drop_while([](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  last = remaining;
}

/// A message cuts what it quotes where nobody would read on.
static constexpr size_t kLongestQuote = 200;

bool JsonReader::fail(const llvm::Twine &what) {
  if (!message.empty())
    return false;
  const llvm::StringRef before = text.drop_back(last.size());
  const size_t line = before.count('\n') + 1;
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
  message = "line " + std::to_string(line) + ", column " + std::to_string(column);
  if (!path.empty())
    message += ", at " + llvm::StringRef(path).ltrim('.').take_front(kLongestQuote).str();
  message += ": " + what.str();
  return false;
}

static std::string quoted(llvm::StringRef text) {
  return "'" + text.take_front(kLongestQuote).str() + (text.size() > kLongestQuote ? "...'" : "'");
}

bool JsonReader::unknownKey(llvm::StringRef key, llvm::StringRef known) {
  return fail("unknown key " + quoted(key) + "; expected one of " + known);
}

namespace {
/// Holds the keys of an object so far. Most objects have few, which are found faster without a
/// table.
class Keys {
public:
  bool insert(llvm::StringRef key) {
    if (few.size() < kFew && !llvm::is_contained(few, key)) {
      few.push_back(key.str());
      return true;
    }
    return !llvm::is_contained(few, key) && more.insert(key).second;
  }

private:
  static constexpr size_t kFew = 16;
  llvm::SmallVector<std::string, kFew> few;
  llvm::StringSet<> more;
};
} // namespace

bool JsonReader::object(llvm::function_ref<bool(llvm::StringRef)> member) {
  skipSpace();
  if (!remaining.consume_front("{"))
    return fail("expected an object");
  Keys keys;
  skipSpace();
  if (remaining.consume_front("}"))
    return true;
  while (true) {
    skipSpace();
    llvm::StringRef token;
    std::string key;
    if (!stringToken(token) || !decode(token, key))
      return fail("expected a key in quotes");
    if (!keys.insert(key))
      return fail("key " + quoted(key) + " is given twice");
    skipSpace();
    if (!remaining.consume_front(":"))
      return fail("expected ':'");
    skipSpace();
    const size_t outer = path.size();
    path += '.';
    path += key;
    if (!member(key))
      return false;
    path.resize(outer);
    skipSpace();
    if (remaining.consume_front("}"))
      return true;
    if (!remaining.consume_front(","))
      return fail("expected ',' or '}'");
  }
}

/// Lists words as a sentence does: "a, b or c".
template <typename Words>
static std::string listed(const Words &words, llvm::StringRef beforeLast) {
  return (llvm::join(llvm::drop_end(words), ", ") +
          llvm::Twine(words.size() > 1 ? beforeLast : "") + words.back())
      .str();
}

bool JsonReader::unknownKey(llvm::StringRef key, JsonMembers known) {
  auto keys = llvm::map_range(known, [](const JsonMember &it) { return it.key.name; });
  return unknownKey(key, llvm::join(keys, ", "));
}

bool JsonReader::members(JsonMembers known, llvm::StringRef what) {
  llvm::SmallVector<const JsonMember *, 8> read;
  return object([&](llvm::StringRef key) {
           const auto *found =
               llvm::find_if(known, [&](const JsonMember &it) { return it.key.name == key; });
           read.push_back(found);
           return found == known.end() ? unknownKey(key, known) : member(*found);
         }) &&
         hasRequired(known, read, what);
}

bool JsonReader::hasRequired(llvm::ArrayRef<JsonMembers> lists,
                             llvm::ArrayRef<const JsonMember *> read, llvm::StringRef what) {
  bool hasAll = true;
  for (JsonMembers members : lists)
    for (const JsonMember &it : members)
      hasAll &= !it.key.isRequired || llvm::is_contained(read, &it);
  if (hasAll)
    return true;
  llvm::SmallVector<std::string> keys;
  for (JsonMembers members : lists)
    for (const JsonMember &it : members)
      if (it.key.isRequired)
        keys.push_back("'" + it.key.name.str() + "'");
  return fail(what + " must have " + listed(keys, " and "));
}

bool JsonReader::elements(llvm::StringRef what,
                          std::initializer_list<llvm::function_ref<bool()>> readers) {
  const auto *next = readers.begin();
  return array([&] { return next != readers.end() ? (*next++)() : fail("expected " + what); }) &&
         (next == readers.end() || fail("expected " + what));
}

bool JsonReader::failExpecting(llvm::ArrayRef<llvm::StringLiteral> words) {
  return fail("expected " + listed(words, " or "));
}

bool JsonReader::format(llvm::StringRef expected) {
  std::string text;
  return string(text) && (text == expected || fail("expected \"" + expected + "\""));
}

bool JsonReader::version(int64_t &version, int64_t latest) {
  return integer(version) &&
         ((version >= 1 && version <= latest) ||
          fail("expected version 1" + (latest == 1 ? "" : " or " + llvm::Twine(latest))));
}

bool JsonReader::member(const JsonMember &member) {
  if (auto *const *number = std::get_if<int64_t *>(&member.target))
    return integer(**number, member.least);
  if (auto *const *number = std::get_if<double *>(&member.target))
    return real(**number);
  if (auto *const *flag = std::get_if<bool *>(&member.target))
    return boolean(**flag);
  if (auto *const *text = std::get_if<std::string *>(&member.target))
    return string(**text);
  return std::get<llvm::function_ref<bool()>>(member.target)();
}

bool JsonReader::array(llvm::function_ref<bool()> element) {
  skipSpace();
  if (!remaining.consume_front("["))
    return fail("expected a list");
  skipSpace();
  if (remaining.consume_front("]"))
    return true;
  for (size_t index = 0;; ++index) {
    skipSpace();
    const size_t outer = path.size();
    path += '[';
    path += std::to_string(index);
    path += ']';
    if (!element())
      return false;
    path.resize(outer);
    skipSpace();
    if (remaining.consume_front("]"))
      return true;
    if (!remaining.consume_front(","))
      return fail("expected ',' or ']'");
  }
}

bool JsonReader::integer(int64_t &number, int64_t least) {
  skipSpace();
  const llvm::StringRef token = remaining.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '-' || c == '+' || c == '.'; });
  const llvm::StringRef digits = token.drop_while([](char c) { return c == '-'; });
  const bool leadingZero = digits.size() > 1 && digits.front() == '0';
  // getAsInteger refuses what does not fit in 64 bits, and anything that is not all digits.
  if (leadingZero || token.getAsInteger(10, number) || number < least)
    return fail("expected an integer from " + llvm::Twine(least) + " to 2^63 - 1" +
                (token.empty() ? llvm::Twine() : ", got " + token.take_front(40)));
  remaining = remaining.drop_front(token.size());
  return true;
}

bool JsonReader::real(double &number) {
  skipSpace();
  const llvm::StringRef token = remaining.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '-' || c == '+' || c == '.'; });
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(token);
  std::optional<double> value = parsed ? parsed->getAsNumber() : std::nullopt;
  if (!parsed)
    llvm::consumeError(parsed.takeError());
  if (!value)
    return fail("expected a number");
  number = *value;
  remaining = remaining.drop_front(token.size());
  return true;
}

bool JsonReader::boolean(bool &flag) {
  skipSpace();
  if (remaining.consume_front("true"))
    flag = true;
  else if (remaining.consume_front("false"))
    flag = false;
  else
    return fail("expected true or false");
  return true;
}

bool JsonReader::null() {
  skipSpace();
  return remaining.consume_front("null");
}

bool JsonReader::skip() {
  constexpr int kDeepest = 64;
  if (skipped == kDeepest)
    return fail("nested too deeply, expected at most 64 objects and lists in each other");
  ++skipped;
  const bool isRead = skipValue();
  --skipped;
  return isRead;
}

bool JsonReader::skipValue() {
  skipSpace();
  double number;
  std::string text;
  bool flag;
  switch (remaining.empty() ? '\0' : remaining.front()) {
  case '{':
    return object([&](llvm::StringRef) { return skip(); });
  case '[':
    return array([&] { return skip(); });
  case '"':
    return string(text);
  case 't':
  case 'f':
    return boolean(flag);
  case 'n':
    return null() || fail("expected a value");
  default:
    return real(number);
  }
}

bool JsonReader::string(std::string &value) {
  skipSpace();
  llvm::StringRef token;
  if (!stringToken(token) || !decode(token, value))
    return fail("expected a string");
  return true;
}

/// Takes a string with its quotes.
bool JsonReader::stringToken(llvm::StringRef &token) {
  if (!remaining.starts_with("\""))
    return false;
  for (size_t end = 1; end < remaining.size(); ++end) {
    if (remaining[end] == '\\') {
      ++end;
    } else if (remaining[end] == '"') {
      token = remaining.take_front(end + 1);
      remaining = remaining.drop_front(end + 1);
      return true;
    }
  }
  return fail("a string without its closing quote");
}

bool JsonReader::decode(llvm::StringRef token, std::string &value) {
  const llvm::StringRef inside = token.drop_front().drop_back();
  const bool plain =
      llvm::all_of(inside, [](unsigned char c) { return c >= 0x20 && c < 0x80 && c != '\\'; });
  if (plain) {
    value = inside.str();
    return true;
  }
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(token);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return fail("a string with a wrong escape, a control character or text that is not UTF-8");
  }
  value = parsed->getAsString()->str();
  return true;
}

llvm::Error JsonReader::finish() {
  skipSpace();
  if (message.empty() && !remaining.empty())
    fail("expected nothing more");
  if (message.empty())
    return llvm::Error::success();
  return llvm::createStringError(message);
}

} // namespace llmmem
