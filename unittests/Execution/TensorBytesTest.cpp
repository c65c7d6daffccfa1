//===- TensorBytesTest.cpp - Floats of one kind as floats of another -------===//

#include "llmmem/Execution/TensorBytes.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
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

TEST(TensorBytes, NanStaysNan) {
  float values[] = {std::numeric_limits<float>::quiet_NaN(),
                    -std::numeric_limits<float>::quiet_NaN()};
  uint16_t rounded[2];
  convertFloats(FloatKind::F32, values, FloatKind::BF16, rounded, 2);
  for (int64_t index : {0, 1})
    EXPECT_TRUE(std::isnan(readFloat(FloatKind::BF16, rounded, index)));
}

} // namespace
