//===- TensorBytes.cpp - Elements of tensors on the host -------------------===//

#include "llmmem/Execution/TensorBytes.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstring>

using namespace llmmem;
using llvm::APFloat;

std::optional<FloatKind> llmmem::floatKindOf(mlir::Type element) {
  const llm::ElementTraits *traits = llm::traitsOf(element);
  return traits ? std::optional(FloatKind(traits - llm::elementTypes().data())) : std::nullopt;
}

static const llm::ElementTraits &traitsOf(FloatKind kind) {
  return llm::elementTypes()[static_cast<unsigned>(kind)];
}

std::optional<FloatKind> llmmem::floatKindOf(llvm::StringRef dtype) {
  for (auto [number, traits] : llvm::enumerate(llm::elementTypes()))
    if (traits.dtype == dtype)
      return FloatKind(number);
  return std::nullopt;
}

llvm::StringRef llmmem::dtypeOf(FloatKind kind) { return traitsOf(kind).dtype; }

int64_t llmmem::bytesOf(FloatKind kind) { return traitsOf(kind).bytes; }

template <typename T>
static T readAs(const void *bytes, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(bytes) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
static void writeAs(void *bytes, int64_t index, T value) {
  std::memcpy(static_cast<char *>(bytes) + index * sizeof(T), &value, sizeof(T));
}

double llmmem::readFloat(FloatKind kind, const void *bytes, int64_t index) {
  if (kind == FloatKind::F64)
    return readAs<double>(bytes, index);
  if (kind == FloatKind::F32)
    return readAs<float>(bytes, index);
  APFloat value(*traitsOf(kind).semantics, llvm::APInt(16, readAs<uint16_t>(bytes, index)));
  bool loses = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

void llmmem::writeFloat(FloatKind kind, void *bytes, int64_t index, double number) {
  if (kind == FloatKind::F64)
    return writeAs(bytes, index, number);
  if (kind == FloatKind::F32)
    return writeAs(bytes, index, static_cast<float>(number));
  APFloat value(number);
  bool loses = false;
  value.convert(*traitsOf(kind).semantics, APFloat::rmNearestTiesToEven, &loses);
  writeAs(bytes, index, static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue()));
}

/// Returns the upper half of an f32; NaN stays NaN.
static uint16_t roundToBF16(float value) {
  auto bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

void llmmem::convertFloats(FloatKind fromKind, const void *from, FloatKind toKind, void *to,
                           int64_t count) {
  if (fromKind == toKind) {
    std::memcpy(to, from, count * bytesOf(toKind));
    return;
  }
  // This is a fast path: through f64, 124 million parameters take seconds.
  if (fromKind == FloatKind::F32 && toKind == FloatKind::BF16) {
    for (int64_t index = 0; index < count; ++index)
      writeAs(to, index, roundToBF16(readAs<float>(from, index)));
    return;
  }
  if (fromKind == FloatKind::BF16 && toKind == FloatKind::F32) {
    for (int64_t index = 0; index < count; ++index)
      writeAs(to, index, static_cast<uint32_t>(readAs<uint16_t>(from, index)) << 16);
    return;
  }
  // Logits come here for each token: through APFloat, a vocabulary in bf16 takes milliseconds.
  if (toKind == FloatKind::F64 && (fromKind == FloatKind::F32 || fromKind == FloatKind::BF16)) {
    for (int64_t index = 0; index < count; ++index) {
      float number =
          fromKind == FloatKind::F32
              ? readAs<float>(from, index)
              : llvm::bit_cast<float>(static_cast<uint32_t>(readAs<uint16_t>(from, index)) << 16);
      writeAs(to, index, static_cast<double>(number));
    }
    return;
  }
  for (int64_t index = 0; index < count; ++index)
    writeFloat(toKind, to, index, readFloat(fromKind, from, index));
}
