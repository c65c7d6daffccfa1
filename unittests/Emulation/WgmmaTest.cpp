//===- WgmmaTest.cpp - wgmma against plain loops, and where its operands lie -===//

#include "Wgmma.h"
#include "gtest/gtest.h"
#include <set>

using namespace llmmem::emulation;

namespace {

constexpr uint64_t swizzledIn128 = uint64_t(1) << 62;

uint64_t descriptor(uint64_t start, uint64_t leading, uint64_t stride) {
  return swizzledIn128 | stride / 16 << 32 | leading / 16 << 16 | start / 16;
}

/// Lines are rows: eight of 128 bytes are a group, and chunk c of line l is where chunk c xor l
/// would be.
TEST(Wgmma, LinesAreRows) {
  SharedOperand operand(descriptor(0x2000, 16, 1024), /*begin=*/0, /*isTurned=*/false);
  EXPECT_EQ(operand.problem(), "");
  EXPECT_EQ(operand.byteOf(0, 0), 0x2000);
  EXPECT_EQ(operand.byteOf(0, 9), 0x2000 + 18);
  EXPECT_EQ(operand.byteOf(1, 0), 0x2000 + 128 + 16);
  EXPECT_EQ(operand.byteOf(9, 8), 0x2000 + 1024 + 128);
  EXPECT_EQ(operand.byteOf(7, 8), 0x2000 + 7 * 128 + (1 ^ 7) * 16);
}

/// The next 16 inner places begin 32 bytes into the first line; the swizzle is that of addresses.
TEST(Wgmma, BeginsInsideOfALine) {
  SharedOperand first(descriptor(0, 16, 1024), 0, false), next(descriptor(32, 16, 1024), 0, false);
  EXPECT_EQ(next.problem(), "");
  for (int64_t row : {0, 3, 63})
    for (int64_t inner : {0, 7, 8, 15})
      EXPECT_EQ(next.byteOf(row, inner), first.byteOf(row, inner + 16));
}

/// Lines are inner places of 64 rows; the next 64 rows are a leading offset away, the next eight
/// inner places a stride.
TEST(Wgmma, LinesAreInnerPlaces) {
  SharedOperand operand(descriptor(0, 8192, 1024), 0, /*isTurned=*/true);
  EXPECT_EQ(operand.byteOf(5, 0), 10);
  EXPECT_EQ(operand.byteOf(0, 1), 128 + 16);
  EXPECT_EQ(operand.byteOf(0, 8), 1024);
  EXPECT_EQ(operand.byteOf(64, 0), 8192);
  EXPECT_EQ(operand.byteOf(72, 9), 8192 + 1024 + 128);
}

/// Addresses have 18 bits, counted from where shared memory begins.
TEST(Wgmma, CountsFromTheBeginOfSharedMemory) {
  uint64_t begin = 0x7f12345FFC00;
  SharedOperand operand(descriptor((begin + 2048) & 0x3FFFF, 16, 1024), begin, false);
  EXPECT_EQ(operand.byteOf(0, 0), 2048);
}

TEST(Wgmma, RefusesOtherLayouts) {
  EXPECT_NE(SharedOperand(descriptor(0, 16, 1024) ^ swizzledIn128, 0, false).problem(), "");
  EXPECT_NE(SharedOperand(descriptor(128, 16, 1024), 0, false).problem(), "");
  EXPECT_NE(SharedOperand(descriptor(0, 16, 1024) | uint64_t(1) << 49, 0, false).problem(), "");
}

TEST(Wgmma, AddsAsPlainLoops) {
  constexpr int columns = 24;
  auto numberAt = [](int row, int k, int seed) {
    return static_cast<float>((row * 37 + k * 11 + seed * 5) % 31 - 15);
  };
  std::vector<float> a, b;
  for (int row = 0; row < kWgmmaRows; ++row)
    for (int k = 0; k < kWgmmaInner; ++k)
      a.push_back(numberAt(row, k, 1));
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < kWgmmaInner; ++k)
      b.push_back(numberAt(column, k, 2));
  std::vector<std::vector<float>> sums(kWarpgroup, std::vector<float>(columns / 2, 1.0f));
  std::vector<float *> places;
  for (std::vector<float> &own : sums)
    places.push_back(own.data());
  addProducts(places, columns, a, b);
  std::set<std::pair<int, int>> seen;
  for (int thread = 0; thread < kWarpgroup; ++thread)
    for (int number = 0; number < columns / 2; ++number) {
      Element at = elementOfSum(thread, number);
      float expected = 1.0f;
      for (int k = 0; k < kWgmmaInner; ++k)
        expected += numberAt(at.row, k, 1) * numberAt(at.column, k, 2);
      EXPECT_EQ(sums[thread][number], expected) << "row " << at.row << ", column " << at.column;
      seen.insert({at.row, at.column});
    }
  EXPECT_EQ(seen.size(), size_t(kWgmmaRows * columns));
}

} // namespace
