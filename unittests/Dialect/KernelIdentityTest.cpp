//===- KernelIdentityTest.cpp - When two ops have the same kernel ----------===//
//
// Each test compares the first two ops of a function.
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

class KernelIdentities : public ::testing::Test {
protected:
  /// Returns whether the two ops have equal code, and equal prices.
  std::pair<bool, bool> areEqual(const std::string &body) {
    OwningOpRef<ModuleOp> module =
        parse("func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>, %seed: tensor<2xi32>) {" +
                  body + " return }",
              *context);
    EXPECT_TRUE(module);
    if (!module)
      return {false, false};
    Operation &first = (*module->getOps<func::FuncOp>().begin()).front().front();
    KernelIdentity a = KernelIdentity::of(&first), b = KernelIdentity::of(first.getNextNode());
    return {a.codeKey() == b.codeKey(), a.priceKey() == b.priceKey()};
  }

  using Equal = std::pair<bool, bool>;
  std::unique_ptr<MLIRContext> context = testContext();
};

TEST_F(KernelIdentities, AnnotationsAreNoPart) {
  EXPECT_EQ(
      areEqual("%0 = llm.gelu %x : tensor<4x8xbf16>"
               "%1 = llm.gelu %x {llm.instance = 1 : i64, llm.name = \"y\"} : tensor<4x8xbf16>"),
      Equal(true, true));
}

TEST_F(KernelIdentities, TheStreamIsNoPart) {
  auto dropout = [](int key, const char *p) {
    return "%r" + std::to_string(key) + " = llm.dropout %x, %seed {p = " + p +
           " : f64, key = " + std::to_string(key) + " : i64} : tensor<4x8xbf16>, tensor<2xi32>\n";
  };
  EXPECT_EQ(areEqual(dropout(1, "0.1") + dropout(2, "0.1")), Equal(true, true));
  EXPECT_EQ(areEqual(dropout(1, "0.1") + dropout(2, "0.2")), Equal(false, false));
}

TEST_F(KernelIdentities, ShapesAreAPart) {
  EXPECT_EQ(areEqual("%0 = llm.reshape %x : tensor<4x8xbf16> -> tensor<8x4xbf16>"
                     "%1 = llm.reshape %x : tensor<4x8xbf16> -> tensor<32xbf16>"),
            Equal(false, false));
}

const std::string kLinear = " = llm.linear %x, %w layout(in_out) ";
const std::string kTypes = " : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>\n";

// A measurement is taken on the device that it prices, so it counts the library as it is.
TEST_F(KernelIdentities, ALibraryHasOtherCodeAndTheSamePrice) {
  EXPECT_EQ(areEqual("%0" + kLinear + kTypes + "%1" + kLinear +
                     "{llm.library_workspace = 256 : i64}" + kTypes),
            Equal(false, true));
}

std::string group(const std::string &results, const std::string &yielded, const char *second) {
  return results +
         " = llm.kernel(%i = %x) : (tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {"
         "%g = llm.gelu %i : tensor<4x8xbf16> %s = llm." +
         second + " %g : tensor<4x8xbf16> llm.yield " + yielded +
         " : tensor<4x8xbf16>, tensor<4x8xbf16> }\n";
}

TEST_F(KernelIdentities, OpsOfAGroupAreAPart) {
  EXPECT_EQ(areEqual(group("%0:2", "%g, %s", "silu") + group("%1:2", "%g, %s", "silu")),
            Equal(true, true));
  EXPECT_EQ(areEqual(group("%0:2", "%g, %s", "silu") + group("%1:2", "%g, %s", "gelu")),
            Equal(false, false));
}

TEST_F(KernelIdentities, TheOrderOfResultsIsAPartOfTheCodeAlone) {
  EXPECT_EQ(areEqual(group("%0:2", "%g, %s", "silu") + group("%1:2", "%s, %g", "silu")),
            Equal(false, true));
}

TEST_F(KernelIdentities, WhichResultsAreReadIsAPartOfTheCodeAlone) {
  EXPECT_EQ(areEqual(group("%0:2", "%g, %s", "silu") + group("%1:2", "%g, %s", "silu") +
                     "%2 = llm.gelu %1#0 : tensor<4x8xbf16>"),
            Equal(false, true));
}

} // namespace
