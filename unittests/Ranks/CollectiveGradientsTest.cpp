//===- CollectiveGradientsTest.cpp - The rules against the definitions ------===//
//
// All collectives are linear in what the ranks have, so a gradient is a transpose: with any dy,
// the sum over ranks of <dy, y> is the sum over ranks of <dx, x>. A value that is one for all ranks
// of a group has one dy for all, and counts once a group (docs/Design/Ranks.md). Numbers are small
// integers, so sums are exact.
//
//===----------------------------------------------------------------------===//

#include "Differentiation/GradientCheck.h"
#include "RankStep.h"
#include "llmmem/Transforms/Differentiation.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

namespace {

/// Who has the value: each rank its own, or all ranks of a group one.
enum class Owner { Rank, Group };

struct Case {
  std::string name, op, operand, result;
  Owner operandOwner = Owner::Rank, resultOwner = Owner::Rank;
};

void PrintTo(const Case &test, std::ostream *os) { *os << test.name; }

constexpr int64_t kDp = 2, kTp = 3; // of the mesh: rank = dp * 3 + tp

/// Small integers; those of a group over tp are equal if it owns them.
Numbers numbersOf(int64_t rank, Owner owner, int64_t count, int64_t seed) {
  int64_t source = owner == Owner::Group ? rank / kTp : rank;
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>((source * 31 + i * 7 + seed * 13) % 11 - 5));
  return numbers;
}

double product(const Numbers &a, const Numbers &b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (auto [x, y] : llvm::zip(a, b))
    sum += x * y;
  return sum;
}

class CollectiveGradients : public ::testing::TestWithParam<Case> {};

TEST_P(CollectiveGradients, AreTransposes) {
  const Case &test = GetParam();
  bool showsTypes = StringRef(test.op).contains("dimension") ||
                    StringRef(test.op).contains("concat") || StringRef(test.op).contains("bucket");
  std::string types = showsTypes ? "(" + test.operand + ") -> " + test.result : test.operand;
  if (StringRef(test.op).starts_with("part"))
    types = test.operand + " -> " + test.result;
  OwningOpRef<ModuleOp> module =
      parse("func.func @f(%x: " + test.operand + ") -> " + test.result +
            " attributes {llm.mesh = #llm.mesh<dp = 2, tp = 3>} { %y = llm." + test.op + " : " +
            types + " return %y : " + test.result + " }");
  ASSERT_TRUE(module);
  auto f = module->lookupSymbol<func::FuncOp>("f");
  ASSERT_TRUE(succeeded(buildGradientFunction(f, "g", {0})));
  ASSERT_TRUE(succeeded(verify(*module)));
  std::unique_ptr<RankStep> gradient = RankStep::compile(*module, "g");
  ASSERT_TRUE(gradient);

  int64_t inputs = cast<RankedTensorType>(f.getArgumentTypes()[0]).getNumElements(),
          outputs = cast<RankedTensorType>(f.getResultTypes()[0]).getNumElements();
  std::vector<std::vector<Numbers>> arguments;
  for (int64_t rank = 0; rank < kDp * kTp; ++rank)
    arguments.push_back({numbersOf(rank, test.operandOwner, inputs, 1),
                         numbersOf(rank, test.resultOwner, outputs, 2)});
  std::vector<std::vector<Numbers>> results = gradient->run(arguments);
  double ofResults = 0, ofOperands = 0;
  for (int64_t rank = 0; rank < kDp * kTp; ++rank) {
    bool isFirst = rank % kTp == 0;
    if (isFirst || test.resultOwner == Owner::Rank)
      ofResults += product(arguments[rank][1], results[rank][0]);
    if (isFirst || test.operandOwner == Owner::Rank)
      ofOperands += product(arguments[rank][0], results[rank][1]);
    if (test.operandOwner == Owner::Group)
      EXPECT_EQ(results[rank][1], results[rank - rank % kTp][1]) << "rank " << rank;
  }
  EXPECT_NE(ofResults, 0);
  EXPECT_EQ(ofResults, ofOperands);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, CollectiveGradients,
    ::testing::Values(
        Case{"AllReduce", R"(all_reduce %x over ["tp"])", "tensor<5xf64>", "tensor<5xf64>",
             Owner::Rank, Owner::Group},
        Case{"Replica", R"(replica %x over ["tp"])", "tensor<5xf64>", "tensor<5xf64>", Owner::Group,
             Owner::Rank},
        Case{"PartOfRows", R"(part %x over ["tp"] {dimension = 0 : i64})", "tensor<6x4xf64>",
             "tensor<2x4xf64>", Owner::Group, Owner::Rank},
        Case{"PartOfMiddle", R"(part %x over ["tp"] {dimension = 1 : i64})", "tensor<2x6x5xf64>",
             "tensor<2x2x5xf64>", Owner::Group, Owner::Rank},
        Case{"GatherRows", R"(all_gather %x over ["tp"] {dimension = 0 : i64})", "tensor<2x4xf64>",
             "tensor<6x4xf64>"},
        Case{"GatherColumns", R"(all_gather %x over ["dp", "tp"] {dimension = 1 : i64})",
             "tensor<2x4xf64>", "tensor<2x24xf64>"},
        Case{"ScatterRows", R"(reduce_scatter %x over ["dp"] {dimension = 0 : i64})",
             "tensor<4x3xf64>", "tensor<2x3xf64>"},
        Case{"ScatterMiddle", R"(reduce_scatter %x over ["tp"] {dimension = 1 : i64})",
             "tensor<2x6x2xf64>", "tensor<2x2x2xf64>"},
        Case{"SumBucket", R"(all_reduce_bucket %x over ["tp"])", "tensor<5xf64>", "tensor<5xf64>",
             Owner::Rank, Owner::Group},
        Case{"ScatterBucket", R"(reduce_scatter_bucket %x over ["tp"])", "tensor<6x3xf64>",
             "tensor<2x3xf64>"},
        Case{"GatherBucket", R"(all_gather_bucket %x over ["dp"])", "tensor<2x3xf64>",
             "tensor<4x3xf64>"},
        Case{"Broadcast", R"(broadcast %x over ["tp"] {root = 2 : i64})", "tensor<7xf64>",
             "tensor<7xf64>"},
        Case{"Reduce", R"(reduce %x over ["dp"] {root = 1 : i64})", "tensor<7xf64>",
             "tensor<7xf64>"},
        Case{"AllToAll", R"(all_to_all %x over ["tp"] {concat = 0 : i64, split = 2 : i64})",
             "tensor<2x2x6xf64>", "tensor<6x2x2xf64>"},
        Case{"AllToAllBack", R"(all_to_all %x over ["tp"] {concat = 1 : i64, split = 0 : i64})",
             "tensor<3x2x4xf64>", "tensor<1x6x4xf64>"},
        Case{"SendUp", R"(send_receive %x over ["tp"] {shift = 1 : i64})", "tensor<4xf64>",
             "tensor<4xf64>"},
        Case{"SendAround", R"(send_receive %x over ["dp", "tp"] {shift = -2 : i64, wraps})",
             "tensor<4xf64>", "tensor<4xf64>"}),
    [](const auto &info) { return info.param.name; });

} // namespace
