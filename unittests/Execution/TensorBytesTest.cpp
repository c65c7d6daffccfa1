//===- TensorBytesTest.cpp - Floats of one kind as floats of another -------===//

#include "llmmem/Execution/TensorBytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace llmmem;

namespace {

// The fast way must give what the way through f64, element by element, gives.
TEST(TensorBytes, ConvertsF32ToBF16AsTheSlowWayDoes) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               1.00390625f, // half-way between two: to the even one
                               1.01171875f, // half-way, the other way
                               -3.14159f,
                               1e-40f,
                               std::numeric_limits<float>::max(), // rounds to infinity
                               std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 1000; ++i)
    values.push_back(std::sin(0.1f * i) * std::pow(2.0f, i % 60 - 30));
  int64_t count = values.size();
  std::vector<uint16_t> fast(count), slow(count);
  convertFloats(FloatKind::F32, values.data(), FloatKind::BF16, fast.data(), count);
  for (int64_t index = 0; index < count; ++index)
    writeFloat(FloatKind::BF16, slow.data(), index, values[index]);
  EXPECT_EQ(fast, slow);

  std::vector<float> back(count);
  convertFloats(FloatKind::BF16, fast.data(), FloatKind::F32, back.data(), count);
  for (int64_t index = 0; index < count; ++index)
    EXPECT_EQ(back[index], readFloat(FloatKind::BF16, fast.data(), index));
}

TEST(TensorBytes, WidensToF64AsTheSlowWayDoes) {
  std::vector<uint16_t> every(1 << 16), narrow;
  std::iota(every.begin(), every.end(), 0);
  llvm::copy_if(every, std::back_inserter(narrow),
                [](uint16_t bits) { return !std::isnan(readFloat(FloatKind::BF16, &bits, 0)); });
  std::vector<float> floats(narrow.size());
  convertFloats(FloatKind::BF16, narrow.data(), FloatKind::F32, floats.data(), narrow.size());
  for (auto [kind, from] : {std::pair<FloatKind, const void *>(FloatKind::BF16, narrow.data()),
                            std::pair<FloatKind, const void *>(FloatKind::F32, floats.data())}) {
    std::vector<double> wide(narrow.size());
    convertFloats(kind, from, FloatKind::F64, wide.data(), wide.size());
    for (size_t index = 0; index < wide.size(); ++index)
      ASSERT_EQ(llvm::bit_cast<uint64_t>(wide[index]),
                llvm::bit_cast<uint64_t>(readFloat(kind, from, index)))
          << index;
  }
}

TEST(TensorBytes, NanStaysNan) {
  float values[] = {std::numeric_limits<float>::quiet_NaN(),
                    -std::numeric_limits<float>::quiet_NaN()};
  uint16_t rounded[2];
  convertFloats(FloatKind::F32, values, FloatKind::BF16, rounded, 2);
  for (int64_t index : {0, 1})
    EXPECT_TRUE(std::isnan(readFloat(FloatKind::BF16, rounded, index)));
}

} // namespace
