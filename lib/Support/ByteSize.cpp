//===- ByteSize.cpp - Sizes in bytes as text -------------------------------===//

#include "llmmem/Support/ByteSize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <optional>

namespace llmmem {
namespace {

struct Unit {
  llvm::StringLiteral name;
  int64_t bytes;
};

constexpr Unit units[] = {{"B", 1},
                          {"kB", 1'000},
                          {"MB", 1'000'000},
                          {"GB", 1'000'000'000},
                          {"TB", 1'000'000'000'000},
                          {"KiB", int64_t(1) << 10},
                          {"MiB", int64_t(1) << 20},
                          {"GiB", int64_t(1) << 30},
                          {"TiB", int64_t(1) << 40}};

llvm::Error badSize(llvm::StringRef text, const llvm::Twine &what) {
  return llvm::createStringError("'" + text + "' is not a size in bytes: " + what +
                                 " (write for example 40GB, 37.25GiB or 40000000000)");
}

std::optional<int64_t> unitBytes(llvm::StringRef name) {
  for (const Unit &unit : units)
    if (name.equals_insensitive(unit.name))
      return unit.bytes;
  return std::nullopt;
}

/// Appends the decimal digits of `digits` to `number`; returns false where it leaves 63 bits.
bool appendDigits(llvm::StringRef digits, __int128 &number) {
  for (char digit : digits) {
    number = number * 10 + (digit - '0');
    if (number > std::numeric_limits<int64_t>::max())
      return false;
  }
  return true;
}

} // namespace

llvm::Expected<int64_t> parseByteSize(llvm::StringRef text) {
  llvm::StringRef remaining = text.trim();
  if (remaining.empty())
    return badSize(text, "expected a number");
  if (remaining.front() == '-')
    return badSize(text, "it must be positive");
  llvm::StringRef whole = remaining.take_while(llvm::isDigit);
  if (whole.empty())
    return badSize(text, "expected a number first");
  remaining = remaining.drop_front(whole.size());

  llvm::StringRef fraction;
  const bool hasPoint = remaining.consume_front(".");
  if (hasPoint) {
    fraction = remaining.take_while(llvm::isDigit);
    if (fraction.empty())
      return badSize(text, "expected digits after the point");
    remaining = remaining.drop_front(fraction.size());
    // The unit is at most 2^40 bytes: digits past the twelfth change the size by about a byte at
    // most.
    fraction = fraction.take_front(12);
  }

  llvm::StringRef unitName = remaining.ltrim();
  std::optional<int64_t> unit = unitName.empty() ? 1 : unitBytes(unitName);
  if (!unit)
    return badSize(text, "unknown unit '" + unitName +
                             "', expected B, kB, MB, GB, TB, KiB, MiB, GiB or TiB");
  if (hasPoint && *unit == 1)
    return badSize(text, "a fraction needs a unit larger than a byte");

  __int128 wholeNumber = 0, fractionNumber = 0, scale = 1;
  if (!appendDigits(whole, wholeNumber) || !appendDigits(fraction, fractionNumber))
    return badSize(text, "it must be below 2^63");
  for (size_t digit = 0; digit < fraction.size(); ++digit)
    scale *= 10;
  __int128 bytes = wholeNumber * *unit + fractionNumber * *unit / scale;
  if (bytes > std::numeric_limits<int64_t>::max())
    return badSize(text, "it must be below 2^63");
  if (bytes == 0)
    return badSize(text, "it must be positive");
  return static_cast<int64_t>(bytes);
}

/// Formats in the largest of units that are `step` times the one before.
static std::string formatIn(llvm::ArrayRef<llvm::StringLiteral> names, double step, int64_t bytes) {
  double shown = static_cast<double>(bytes);
  size_t unit = 0;
  // A number that would print as 1000.00, or 1024.00, is written in the next unit.
  const double limit = step - 0.005;
  while (unit + 1 < names.size() && (shown >= limit || shown <= -limit)) {
    shown /= step;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (unit == 0)
    os << bytes << " B";
  else
    os << llvm::format("%.2f ", shown) << names[unit];
  return text;
}

std::string formatByteSize(int64_t bytes) {
  static constexpr llvm::StringLiteral names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return formatIn(names, 1000, bytes);
}

std::string formatBinaryByteSize(int64_t bytes) {
  static constexpr llvm::StringLiteral names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return formatIn(names, 1024, bytes);
}

} // namespace llmmem
