//===- BucketsTest.cpp - A bucket against the collectives of its values -----===//
//
// Each value of a bucket has the bits that its own collective gives, in groups of two, three and
// one, with sizes that no vector divides.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/GradientCheck.h"
#include "RankStep.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// Returns the program for one axis, with `%x` and `%y`, whose parts are `%p` and `%q`.
std::string program(llvm::StringRef axis, int64_t ranks, bool inBuckets) {
  std::string x = "tensor<6x7xf32>", y = "tensor<12x1x3xf32>";
  std::string p = "tensor<" + std::to_string(6 / ranks) + "x7xf32>",
              q = "tensor<" + std::to_string(12 / ranks) + "x1x3xf32>";
  std::string over = (" over [\"" + axis + "\"]").str();
  std::string text = "func.func @f(%x: " + x + ", %y: " + y + ") -> (" + x + ", " + y + ", " + p +
                     ", " + q + ", " + x + ", " + y +
                     ") attributes {llm.mesh = #llm.mesh<dp = 2, one = 1, tp = 3>} {\n";
  if (inBuckets) {
    text += "%a:2 = llm.all_reduce_bucket %x, %y" + over + " : (" + x + ", " + y + ") -> (" + x +
            ", " + y + ")\n%b:2 = llm.reduce_scatter_bucket %x, %y" + over + " : (" + x + ", " + y +
            ") -> (" + p + ", " + q + ")\n%c:2 = llm.all_gather_bucket %b#0, %b#1" + over + " : (" +
            p + ", " + q + ") -> (" + x + ", " + y +
            ")\nreturn %a#0, %a#1, %b#0, %b#1, %c#0, %c#1 : ";
  } else {
    std::string first = " {dimension = 0 : i64} : (";
    text += "%a0 = llm.all_reduce %x" + over + " : " + x + "\n%a1 = llm.all_reduce %y" + over +
            " : " + y + "\n%b0 = llm.reduce_scatter %x" + over + first + x + ") -> " + p +
            "\n%b1 = llm.reduce_scatter %y" + over + first + y + ") -> " + q +
            "\n%c0 = llm.all_gather %b0" + over + first + p + ") -> " + x +
            "\n%c1 = llm.all_gather %b1" + over + first + q + ") -> " + y +
            "\nreturn %a0, %a1, %b0, %b1, %c0, %c1 : ";
  }
  return text + x + ", " + y + ", " + p + ", " + q + ", " + x + ", " + y + "\n}";
}

std::vector<std::vector<Numbers>> run(const std::string &text) {
  OwningOpRef<ModuleOp> module = parse(text);
  if (!module)
    return {};
  std::vector<std::vector<Numbers>> arguments;
  for (int rank = 0; rank < 6; ++rank) {
    arguments.emplace_back(2);
    for (int i = 0; i < 42; ++i)
      arguments.back()[0].push_back(0.37 * rank + 0.11 * i);
    for (int i = 0; i < 36; ++i)
      arguments.back()[1].push_back(1.7 * rank - 0.013 * i);
  }
  std::unique_ptr<RankStep> step = RankStep::compile(*module, "f");
  return step ? step->run(arguments) : std::vector<std::vector<Numbers>>();
}

TEST(Buckets, GiveTheBitsOfEachValueAlone) {
  for (auto [axis, ranks] : {std::pair("dp", 2), std::pair("tp", 3), std::pair("one", 1)}) {
    SCOPED_TRACE(axis);
    std::vector<std::vector<Numbers>> alone = run(program(axis, ranks, /*inBuckets=*/false));
    ASSERT_FALSE(alone.empty());
    EXPECT_EQ(run(program(axis, ranks, /*inBuckets=*/true)), alone);
  }
}

} // namespace
