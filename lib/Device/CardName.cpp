//===- CardName.cpp - Cards as people write them -----------------------------===//

#include "llmmem/Device/CardName.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llmmem;

namespace {
/// Is a spelling without what does not matter: rtx4090 is {"4090", none}.
struct Spelling {
  std::string key;
  std::optional<int64_t> memory;
};
} // namespace

/// Returns the bytes of a part such as 80gb or 80g.
static std::optional<int64_t> memoryOf(StringRef part) {
  int64_t gigabytes = 0;
  constexpr int64_t kMost = 1 << 20;
  if (!part.consume_back("gb"))
    part.consume_back("g");
  if (part.empty() || part.getAsInteger(10, gigabytes) || gigabytes < 1 || gigabytes > kMost)
    return std::nullopt;
  return gigabytes * 1'000'000'000;
}

static Spelling spellingOf(StringRef name) {
  static constexpr StringLiteral noise[] = {"nvidia", "geforce",  "tesla", "quadro",
                                            "amd",    "instinct", "apple", "gpu",
                                            "sxm",    "sxm4",     "sxm5",  "rtx"};
  SmallVector<StringRef> parts;
  const std::string lower = name.lower();
  SplitString(lower, parts, " -_");
  Spelling spelling;
  for (auto [number, part] : enumerate(parts)) {
    const bool hasUnit = part.ends_with("g") || part.ends_with("gb");
    if (is_contained(noise, part))
      continue;
    // "80 gb" is one size in two parts.
    if (number > 0 && (part == "gb" || part == "g") && spelling.memory)
      continue;
    const bool nextIsUnit =
        number + 1 < parts.size() && (parts[number + 1] == "gb" || parts[number + 1] == "g");
    if (std::optional<int64_t> bytes = hasUnit || nextIsUnit ? memoryOf(part) : std::nullopt)
      spelling.memory = bytes;
    else
      spelling.key += part;
  }
  StringRef key = spelling.key;
  key.consume_front("rtx");
  spelling.key = key.str();
  return spelling;
}

std::pair<int64_t, StringRef> llmmem::splitCount(StringRef name) {
  constexpr int64_t kMost = 999; // The 3090 of 3090x2 is no count.
  name = name.trim();
  int64_t count = 0;
  StringRef digits = name.take_while(isDigit), rest = name.drop_front(digits.size()).ltrim();
  // Every card has a digit in its name: 24XB is none.
  if (!digits.empty() && (rest.consume_front_insensitive("x") || rest.consume_front("*")) &&
      any_of(rest, isDigit) && !digits.getAsInteger(10, count) && count > 0 && count <= kMost)
    return {count, rest.ltrim()};
  digits = name.take_back(name.size() - (name.find_last_not_of("0123456789") + 1));
  rest = name.drop_back(digits.size()).rtrim();
  // The x of mi300x is its own.
  if (!digits.empty() && rest.consume_back_insensitive("x") && !rest.empty() &&
      !rest.ends_with_insensitive("rt") && !digits.getAsInteger(10, count) && count > 0 &&
      count <= kMost)
    return {count, rest.rtrim(" -_")};
  return {1, name};
}

static Error unknownCard(StringRef name, const std::string &key) {
  constexpr size_t kLongKey = 6;
  const unsigned near = key.size() < kLongKey ? 1 : 2;
  std::string names, nearest;
  unsigned least = near + 1;
  for (const DeviceModel &table : shippedDevices()) {
    names += (names.empty() ? "" : ", ") + table.name;
    const unsigned distance = StringRef(key).edit_distance(spellingOf(table.name).key, true, near);
    if (distance < least && any_of(key, isDigit)) {
      least = distance;
      nearest = table.name;
    }
  }
  return createStringError(
      formatv("unknown device '{0}'; {1} one of {2}, or a file that ends in .json", name,
              nearest.empty() ? "expected" : "did you mean " + nearest + "? Expected", names));
}

Expected<NamedCards> llmmem::readCardName(StringRef name) {
  auto [count, rest] = splitCount(name);
  const Spelling asked = spellingOf(rest);
  const DeviceModel *best = nullptr;
  for (const DeviceModel &table : shippedDevices()) {
    const Spelling own = spellingOf(table.name);
    if (own.key != asked.key)
      continue;
    // A table whose name has this size is meant before the card's table without one.
    if (!best || (asked.memory && own.memory == asked.memory))
      best = &table;
  }
  if (!best)
    return unknownCard(name, asked.key);
  NamedCards cards{*best, count};
  // What a datasheet calls 24 GB may be a little less to programs, and its table knows.
  constexpr double kPart = 0.05;
  const auto own = static_cast<double>(best->memoryBytes);
  if (asked.memory && std::abs(static_cast<double>(*asked.memory) - own) > kPart * own)
    cards.table.memoryBytes = *asked.memory;
  return cards;
}
