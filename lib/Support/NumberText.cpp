//===- NumberText.cpp - Numbers as people read them -------------------------===//

#include "llmmem/Support/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

/// Returns `larger` and `smaller` units, as 2 h 30 min; none of 0 smaller ones.
static std::string inTwoUnits(int64_t smallerUnits, int64_t ratio, llvm::StringRef larger,
                              llvm::StringRef smaller) {
  std::string text = llvm::formatv("{0} {1}", smallerUnits / ratio, larger).str();
  if (smallerUnits % ratio)
    text += llvm::formatv(" {0} {1}", smallerUnits % ratio, smaller).str();
  return text;
}

/// Returns three digits; a number that would be written as 1000 takes the next unit.
static std::string inOneUnit(int64_t ns) {
  constexpr llvm::StringLiteral units[] = {"ns", "us", "ms", "s"};
  double number = static_cast<double>(ns);
  size_t unit = 0;
  for (; unit + 1 < std::size(units) && number >= 999.5; ++unit)
    number /= 1000;
  const char *digits = unit == 0 || number >= 99.95 ? "{0:f0} {1}"
                       : number >= 9.995            ? "{0:f1} {1}"
                                                    : "{0:f2} {1}";
  return llvm::formatv(false, digits, number, units[unit]).str();
}

std::string llmmem::formatDuration(int64_t ns) {
  constexpr int64_t perSecond = 1'000'000'000, sixty = 60;
  constexpr int64_t mostSeconds = 100, mostMinutes = 100;
  const int64_t seconds = (ns + perSecond / 2) / perSecond;
  if (seconds < mostSeconds)
    return inOneUnit(ns);
  if (seconds < mostMinutes * sixty)
    return inTwoUnits(seconds, sixty, "min", "s");
  return inTwoUnits((seconds + sixty / 2) / sixty, sixty, "h", "min");
}

std::string llmmem::formatCount(int64_t number) {
  std::string digits = std::to_string(number);
  const int64_t first = number < 0 ? 1 : 0;
  for (int64_t place = static_cast<int64_t>(digits.size()) - 3; place > first; place -= 3)
    digits.insert(place, ",");
  return digits;
}

std::string llmmem::counted(int64_t number, llvm::StringRef noun) {
  return (formatCount(number) + " " + noun + (number == 1 ? "" : "s")).str();
}
