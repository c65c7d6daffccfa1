//===- ProgramTextTest.cpp - Bounds of the text of a program -----------------===//

#include "llmmem/Support/ProgramText.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

std::string repeat(llvm::StringRef text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += text;
  return all;
}

/// Returns the complaint about a text, which is empty for none.
std::string check(const std::string &text, const ProgramLimits &limits = {}) {
  return llvm::toString(checkProgramText("m.mlir", text, limits));
}

const ProgramLimits kSmall{/*depth=*/4, /*operators=*/4, /*names=*/3, /*digits=*/10,
                           /*expanded=*/20};

TEST(ProgramTextTest, namesThePlaceOfTheBracketThatIsTooMany) {
  EXPECT_EQ(check("module {\n  a = [[[[1]]]]\n}", kSmall),
            "m.mlir:2:10: nested more than 4 levels deep, expected fewer brackets, or aliases, in "
            "each other");
  EXPECT_EQ(check("module {\n  a = [[[1]]], b = [[[2]]]\n}", kSmall), "");
}

TEST(ProgramTextTest, bracketsInStringsAndCommentsAreNone) {
  EXPECT_EQ(check("a = \"((((((\" // [[[[[[\nb = \"\\\"((((((\"", kSmall), "");
  EXPECT_NE(check("a = \"x\" ((((((", kSmall), "");
  EXPECT_NE(check("a = \"\\\\\" ((((((", kSmall), "");
}

TEST(ProgramTextTest, arrowsAndComparisonsAreNoBrackets) {
  EXPECT_EQ(check(repeat("(d0) -> (d0 >= 0, d0 <= 4)\n", 20), kSmall), "");
  // What is a sign of comparison after all is closed by the bracket around it.
  EXPECT_EQ(check(repeat("(a < b)\n", 20), kSmall), "");
}

TEST(ProgramTextTest, everyKindOfBracketCounts) {
  for (const char *open : {"(", "[", "{", "<", "tuple<", "loc(\"a\"(", "module {\n"})
    EXPECT_NE(check(repeat(open, 6), kSmall), "") << open;
}

TEST(ProgramTextTest, anAliasIsAsDeepAsItsValue) {
  EXPECT_EQ(check("#a0 = [1]\n#a1 = [#a0]\n#a2 = [#a1]\nmodule { b = #a2 }", kSmall), "");
  EXPECT_EQ(check("#a0 = [1]\n#a1 = [#a0]\n#a2 = [#a1]\n#a3 = [[#a2]]", kSmall),
            "m.mlir:4:9: nested more than 4 levels deep, expected fewer brackets, or aliases, in "
            "each other");
  EXPECT_NE(check("!a0 = tuple<i1>\n!a1 = tuple<!a0>\n!a2 = tuple<!a1>\nfunc.func private "
                  "@f(tuple<tuple<!a2>>)",
                  kSmall),
            "");
  // A value goes on in the next line.
  EXPECT_NE(check("#a0 = [[1]]\n#a1 = dense<1> :\n  tensor<[#a0]>\n#a2 = [[#a1]]", kSmall), "");
}

TEST(ProgramTextTest, aProgramBehindAnAliasIsNotItsValue) {
  EXPECT_EQ(check("#a = [1]\nmodule {\n" + repeat("  b.c {d = [#a]}\n", 100) + "}", kSmall), "");
}

TEST(ProgramTextTest, anAliasWrittenOutHasAnEnd) {
  EXPECT_EQ(check("#a0 = [x, x, x, x]\n#a1 = [#a0, #a0]\n#a2 = [#a1, #a1]", kSmall),
            "m.mlir:3:13: an alias of more than 20 words when written out, expected fewer aliases "
            "in each other");
}

TEST(ProgramTextTest, operatorsOfOneExpressionAreItsDepth) {
  EXPECT_EQ(check("affine_map<(d0) -> (d0 + 1 + 2 + 3, d0 + 4 * 2)>", kSmall), "");
  EXPECT_NE(check("affine_map<(d0) -> (d0 + 1 + 2 + 3 + 4 + 5)>", kSmall), "");
  EXPECT_NE(check("affine_map<(d0) -> (d0 mod 2 floordiv 3 ceildiv 4 mod 5 mod 6)>", kSmall), "");
  EXPECT_NE(check("affine_map<(d0) -> (- - - - - d0)>", kSmall), "");
  // No expression reaches from op to op.
  EXPECT_EQ(check("{" + repeat("c = -1\n", 50) + "}", kSmall), "");
}

TEST(ProgramTextTest, listsOfAffineMapsAreShort) {
  EXPECT_EQ(check("affine_map<(a, b, c) -> (a, b, c)>", kSmall), "");
  EXPECT_EQ(check("affine_map<(a, b, c, d) -> (a)>", kSmall),
            "m.mlir:1:20: more than 3 names in a list of an affine map, expected fewer dimensions, "
            "symbols and results");
  EXPECT_NE(check("affine.load %m[%a, %b, %c, %d]", kSmall), "");
  // Other lists are as long as they are, and the next op is another one.
  EXPECT_EQ(check("{a = [affine_map<(a) -> (a)>], b = array<i64: 1, 2, 3, 4, 5>}", kSmall), "");
  EXPECT_EQ(check("affine.load %m[%a]\ncall @f(%a, %b, %c, %d, %e)", kSmall), "");
}

TEST(ProgramTextTest, shapesAndNumbersAreShort) {
  EXPECT_EQ(check("tensor<1x2x3xf32>", kSmall), "");
  EXPECT_EQ(check("tensor<1x2x3x4x5xf32>", kSmall),
            "m.mlir:1:8: a number or a shape of more than 10 characters, expected fewer dimensions "
            "or digits");
  EXPECT_NE(check("tensor<?x1x2x3x4x5xf32>", kSmall), "");
  EXPECT_EQ(check("@a_long_name_of_a_function(%1234567890)", kSmall), "");
}

TEST(ProgramTextTest, aByteOfZeroIsNoText) {
  EXPECT_EQ(check(std::string("module {\n}\0", 11)),
            "m.mlir:2:2: a byte of value 0, expected the text of a program");
}

} // namespace
