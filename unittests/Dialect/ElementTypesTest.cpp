//===- ElementTypesTest.cpp - The table of element types says what MLIR says ===//

#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmmem;

namespace {

class ElementTypes : public testing::Test {
protected:
  MLIRContext context;
  Builder builder{&context};
};

TEST_F(ElementTypes, HaveTheBytesAndTheRoundingOfTheirTypes) {
  for (FloatType type : {FloatType(builder.getF64Type()), FloatType(builder.getF32Type()),
                         FloatType(builder.getBF16Type()), FloatType(builder.getF16Type())}) {
    const llm::ElementTraits *traits = llm::traitsOf(type);
    ASSERT_TRUE(traits);
    std::string printed;
    llvm::raw_string_ostream(printed) << type;
    EXPECT_EQ(traits->word, printed);
    EXPECT_EQ(traits->dtype, StringRef(printed).upper());
    EXPECT_EQ(traits->bytes * 8, type.getWidth());
    EXPECT_EQ(traits->semantics, &type.getFloatSemantics());
    EXPECT_EQ(traits->isHalf, type.getWidth() == 16);
    EXPECT_EQ(llm::wideTypeFor(type) == type, traits->isWide);
  }
  EXPECT_EQ(llm::elementTypes().size(), 4u);
}

TEST_F(ElementTypes, AreNoneOfWhatOnlyHoldsNumbers) {
  for (Type type : {Type(builder.getIntegerType(8)), Type(Float8E4M3FNType::get(&context)), Type()})
    EXPECT_FALSE(llm::traitsOf(type));
  EXPECT_FALSE(llm::isHalf(builder.getIntegerType(16)));
  EXPECT_TRUE(llm::wideTypeFor(builder.getIntegerType(8)).isF32());
}

} // namespace
