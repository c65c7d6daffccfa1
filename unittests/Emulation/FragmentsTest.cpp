//===- FragmentsTest.cpp - mma.sync against a plain matmul -----------------===//

#include "Fragments.h"
#include "gtest/gtest.h"
#include <bit>
#include <set>

using namespace llmmem::emulation;

namespace {

/// Small whole numbers, which are exact in bf16 and in sums of f32.
float numberAt(int row, int column, int seed) {
  return static_cast<float>((row * 37 + column * 11 + seed * 5) % 31 - 15);
}

uint32_t halves(float low, float high) {
  return std::bit_cast<uint32_t>(low) >> 16 | (std::bit_cast<uint32_t>(high) & 0xFFFF0000u);
}

TEST(Fragments, MultiplyAsPlainLoops) {
  Fragments lanes[32];
  std::array<Fragments *, 32> warp;
  for (int lane = 0; lane < 32; ++lane) {
    warp[lane] = &lanes[lane];
    auto a = [&](int word, int half) {
      Element at = elementOfA(lane, word, half);
      return numberAt(at.row, at.column, 1);
    };
    auto b = [&](int word, int half) {
      Element at = elementOfB(lane, word, half);
      return numberAt(at.row, at.column, 2);
    };
    for (int word = 0; word < 4; ++word)
      lanes[lane].a[word] = halves(a(word, 0), a(word, 1));
    for (int word = 0; word < 2; ++word)
      lanes[lane].b[word] = halves(b(word, 0), b(word, 1));
    for (int number = 0; number < 4; ++number) {
      Element at = elementOfC(lane, number);
      lanes[lane].c[number] = numberAt(at.row, at.column, 3);
    }
  }
  multiplyFragments(warp);
  for (int lane = 0; lane < 32; ++lane)
    for (int number = 0; number < 4; ++number) {
      Element at = elementOfC(lane, number);
      float expected = numberAt(at.row, at.column, 3);
      for (int k = 0; k < 16; ++k)
        expected += numberAt(at.row, k, 1) * numberAt(k, at.column, 2);
      EXPECT_EQ(lanes[lane].c[number], expected) << "row " << at.row << ", column " << at.column;
    }
}

/// The examples that the PTX manual's formulas give for some lanes, written out.
TEST(Fragments, StandWhereTheManualSays) {
  auto expect = [](Element at, int row, int column) {
    EXPECT_EQ(at.row, row);
    EXPECT_EQ(at.column, column);
  };
  expect(elementOfA(0, 0, 1), 0, 1);    // a1: group 0, thread 0
  expect(elementOfA(5, 1, 0), 9, 2);    // a2: row groupID + 8
  expect(elementOfA(5, 2, 0), 1, 10);   // a4: column + 8
  expect(elementOfA(31, 3, 1), 15, 15); // a7
  expect(elementOfB(6, 0, 1), 5, 1);    // b1
  expect(elementOfB(31, 1, 1), 15, 7);  // b3
  expect(elementOfC(9, 1), 2, 3);       // c1
  expect(elementOfC(31, 3), 15, 7);     // c3
}

TEST(Fragments, CoverEachElementOnce) {
  std::set<std::pair<int, int>> a, b, c;
  for (int lane = 0; lane < 32; ++lane)
    for (int word = 0; word < 4; ++word) {
      Element ofC = elementOfC(lane, word);
      c.insert({ofC.row, ofC.column});
      for (int half = 0; half < 2; ++half) {
        Element ofA = elementOfA(lane, word, half), ofB = elementOfB(lane, word % 2, half);
        a.insert({ofA.row, ofA.column});
        b.insert({ofB.row, ofB.column});
      }
    }
  EXPECT_EQ(a.size(), 256u);
  EXPECT_EQ(b.size(), 128u);
  EXPECT_EQ(c.size(), 128u);
}

} // namespace
