//===- PackNumbers.cpp - Rounding weights to fewer bits --------------------===//

#include "llmmem/Execution/PackNumbers.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llvm/ADT/APFloat.h"
#include <algorithm>
#include <cmath>

using namespace llmmem;

llvm::StringRef llmmem::packedDtypeOf(mlir::Type element) {
  if (element.isInteger(4))
    return "U8";
  if (element.isInteger(8))
    return "I8";
  return llvm::isa<mlir::Float8E4M3FNType>(element) ? "F8_E4M3" : "F8_E5M2";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static uint8_t nibbleAt(const uint8_t *bytes, int64_t index) {
  return bytes[index / 2] >> (index % 2 * 4) & 15;
}

double PackedBytes::numberAt(int64_t index) const {
  if (element.isInteger(4))
    return nibbleAt(numbers, index) - nibbleAt(zeros, index / group);
  if (element.isInteger(8))
    return static_cast<int8_t>(numbers[index]);
  llvm::APFloat number(llvm::cast<mlir::FloatType>(element).getFloatSemantics(),
                       llvm::APInt(8, numbers[index]));
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

double PackedBytes::elementAt(int64_t index) const {
  return numberAt(index) * readFloat(scaleKind, scales, index / group);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

uint8_t llmmem::roundToSmallFloat(mlir::Type element, double value) {
  const bool isE4 = llvm::isa<mlir::Float8E4M3FNType>(element);
  const int significand = isE4 ? 3 : 2, bias = isE4 ? 7 : 15;
  const double size = std::min(std::abs(value), llm::largestPacked(element));
  int exponent = 0;
  std::frexp(size, &exponent);
  // Numbers below the smallest normal one have its last place; for 0 `frexp` gives no exponent.
  const int place = size == 0 ? 1 - bias : std::max(exponent - 1, 1 - bias);
  const auto count = static_cast<int>(std::nearbyint(std::ldexp(size, significand - place)));
  const int bits = ((place + bias - 1) << significand) + count;
  return static_cast<uint8_t>(bits | (std::signbit(value) ? 0x80 : 0));
}

static void storeNibble(uint8_t *bytes, int64_t index, double value) {
  const auto bits = static_cast<uint8_t>(std::clamp(value, 0.0, 15.0));
  const int shift = index % 2 * 4;
  bytes[index / 2] = static_cast<uint8_t>((bytes[index / 2] & ~(15 << shift)) | bits << shift);
}

/// Stores the scale, and returns it as it is read back.
static double storeScale(const PackedBytes &to, int64_t number, double scale) {
  writeFloat(to.scaleKind, to.scales, number, scale);
  return readFloat(to.scaleKind, to.scales, number);
}

static double quotient(double weight, double scale) { return scale == 0 ? 0 : weight / scale; }

static void packNibbles(const PackedBytes &to, int64_t number, llvm::ArrayRef<double> weights) {
  auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  const double low = std::min(*least, 0.0), high = std::max(*most, 0.0);
  const double scale = storeScale(to, number, (high - low) / 15);
  const double zero = std::clamp(std::nearbyint(quotient(-low, scale)), 0.0, 15.0);
  storeNibble(to.zeros, number, zero);
  for (auto [i, weight] : llvm::enumerate(weights))
    storeNibble(to.numbers, number * to.group + i, std::nearbyint(quotient(weight, scale)) + zero);
}

bool llmmem::packGroup(const PackedBytes &to, int64_t number, llvm::ArrayRef<double> weights) {
  if (!llvm::all_of(weights, [](double weight) { return std::isfinite(weight); }))
    return false;
  if (to.element.isInteger(4)) {
    packNibbles(to, number, weights);
    return true;
  }
  double most = 0;
  for (double weight : weights)
    most = std::max(most, std::abs(weight));
  const double largest = llm::largestPacked(to.element);
  const double scale = storeScale(to, number, most / largest);
  for (auto [i, weight] : llvm::enumerate(weights)) {
    const double value = std::clamp(quotient(weight, scale), -largest, largest);
    to.numbers[number * to.group + i] =
        to.element.isInteger(8) ? static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(value)))
                                : roundToSmallFloat(to.element, value);
  }
  return true;
}
