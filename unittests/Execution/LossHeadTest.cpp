//===- LossHeadTest.cpp - The loss head against the ops it stands for ------===//

#include "Check.h"
#include "llmmem/Emulation/Emulator.h"
#include "llmmem/Runtime/Parallel.h"

using namespace llmmem::test;

namespace {

struct Head {
  int64_t tokens = 10, width = 19, vocabulary = 37;
  bool outIn = true, into = true;
  bool constant = false; // x: it has no gradient

  std::string x() const { return std::to_string(tokens) + "x" + std::to_string(width) + "xT"; }
  std::string logits() const {
    return std::to_string(tokens) + "x" + std::to_string(vocabulary) + "xT";
  }
  std::string weight() const {
    int rows = outIn ? vocabulary : width, columns = outIn ? width : vocabulary;
    return std::to_string(rows) + "x" + std::to_string(columns) + "xT";
  }
  std::string targets() const { return std::to_string(tokens) + "xi32"; }
  const char *layout() const { return outIn ? "layout(out_in)" : "layout(in_out)"; }
  const char *otherLayout() const { return outIn ? "layout(in_out)" : "layout(out_in)"; }
  std::string accumulated() const { return into ? "into(%s) " : ""; }
  std::string sumType() const { return into ? ", tensor<" + weight() + ">" : ""; }

  std::string signature() const {
    return "func.func @step(%x: tensor<" + x() + ">, %w: tensor<" + weight() + ">, %t: tensor<" +
           targets() + ">, %s: tensor<" + weight() + ">) -> " + results();
  }
  std::string results() const {
    return "(tensor<W>, " + (constant ? "" : "tensor<" + x() + ">, ") + "tensor<" + weight() + ">)";
  }
  std::string names() const { return constant ? "%loss, %dw" : "%loss, %dx, %dw"; }
  std::string returned() const {
    std::string types = results();
    return "  return " + names() + " : " + types.substr(1, types.size() - 2) + "\n}\n";
  }

  std::string grouped(int granule, int chunk) const {
    return signature() + " {\n  " + names() + " = llm.loss_head %x, %w, %t " + accumulated() +
           layout() + " {chunk = " + std::to_string(chunk) +
           " : i64, granule = " + std::to_string(granule) + " : i64" +
           (constant ? ", constant_x" : "") + "} : (tensor<" + x() + ">, tensor<" + weight() +
           ">, tensor<" + targets() + ">" + sumType() + ") -> " + results() + "\n" + returned();
  }

  std::string separate() const {
    std::string types = "tensor<" + x() + ">, tensor<" + weight() + ">";
    return signature() + " {\n  %logits = llm.linear %x, %w " + layout() + " : (" + types +
           ") -> tensor<" + logits() + ">\n" +
           "  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<" + logits() + ">, tensor<" +
           targets() + ">) -> (tensor<W>, tensor<" + std::to_string(tokens) + "xW>)\n" +
           "  %one = llm.fill {value = 1.0 : f64} : tensor<W>\n" +
           "  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one : (tensor<" + logits() +
           ">, tensor<" + std::to_string(tokens) + "xW>, tensor<" + targets() +
           ">, tensor<W>) -> tensor<" + logits() + ">\n" +
           "  %dw = llm.linear_weight_grad %x, %dlogits " + accumulated() + layout() +
           " : (tensor<" + x() + ">, tensor<" + logits() + ">" + sumType() + ") -> tensor<" +
           weight() + ">\n" + "  %dx = llm.linear %dlogits, %w " + otherLayout() + " : (tensor<" +
           logits() + ">, tensor<" + weight() + ">) -> tensor<" + x() + ">\n" + returned();
  }

  /// Every third target is ignored, one lies outside the vocabulary.
  std::vector<Numbers> arguments() const {
    Numbers ids;
    for (int64_t i = 0; i < tokens; ++i)
      ids.push_back(i % 3 == 1 ? -100 : i == 2 ? vocabulary + 5 : (7 * i) % vocabulary);
    return {someNumbers(tokens * width, 1), someNumbers(vocabulary * width, 2), ids,
            someNumbers(vocabulary * width, 3)};
  }
};

class LossHead : public KernelTest {
protected:
  /// Says whether sums of powers are reduced tile by tile, and not in the order of a row.
  bool addsTileByTile() const { return GetParam() == "bf16" && std::getenv("LLMMEM_TEST_EMULATE"); }
  std::vector<Numbers> runHead(const Head &head, const std::string &text,
                               const RunOptions &options = {}) {
    return runWide(text, head.arguments(), options);
  }
};

TEST_P(LossHead, OneGranuleHasTheBitsOfTheOpsApart) {
  for (bool outIn : {true, false})
    for (bool into : {true, false}) {
      Head head{.outIn = outIn, .into = into};
      std::vector<Numbers> grouped = runHead(head, head.grouped(512, 10)),
                           apart = runHead(head, head.separate());
      if (!addsTileByTile())
        EXPECT_EQ(grouped, apart);
      for (int result : {0, 1, 2})
        expectNear(grouped[result], apart[result], tolerance());
    }
}

TEST_P(LossHead, OfAConstantInputHasTheWeightsGradientAlone) {
  for (bool isFirst : {true, false}) {
    Head both{.outIn = isFirst, .into = isFirst}, head = both;
    head.constant = true;
    std::vector<Numbers> all = runHead(both, both.grouped(3, 6)),
                         found = runHead(head, head.grouped(3, 6));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0], all[0]);
    EXPECT_EQ(found[1], all[2]);
  }
}

TEST_P(LossHead, TilesOfARowMeetInItsLoss) {
  // More than two tiles of 128 rows and columns each way, the last ones partial.
  for (bool outIn : {true, false}) {
    Head head{.tokens = 260, .width = 24, .vocabulary = 300, .outIn = outIn};
    std::vector<Numbers> arguments = head.arguments();
    for (double &x : arguments[0])
      x *= 20.0; // the largest logits of two tiles lie far apart
    std::vector<Numbers> apart = runWide(head.separate(), arguments);
    std::vector<Numbers> grouped = runWide(head.grouped(512, 260), arguments);
    // The logits are equal, so the losses are too, except for the order of sums.
    expectNear(grouped[0], apart[0], 1e-6);
    for (int result : {1, 2})
      expectNear(grouped[result], apart[result], tolerance());
  }
}

TEST_P(LossHead, ChunksChangeNoBit) {
  for (bool outIn : {true, false})
    for (bool into : {true, false}) {
      Head head{.outIn = outIn, .into = into};
      std::vector<Numbers> apart = runHead(head, head.separate());
      std::vector<Numbers> whole = runHead(head, head.grouped(3, 10));
      // 3 + 3 + 3 + 1, 6 + 4, 9 + 1 tokens, with a sum to go on from; utils/check --long sweeps
      // all.
      bool isSwept = (outIn && into) || std::getenv("LLMMEM_LONG");
      for (int chunk : isSwept ? std::vector{3, 6, 9} : std::vector{6})
        EXPECT_EQ(runHead(head, head.grouped(3, chunk)), whole) << "chunk " << chunk;
      // A library may compute matmuls of other sizes differently, and a GPU distributes a row of
      // odd length by its alignment.
      if (GetParam() != "f32" && !std::getenv("LLMMEM_TEST_EMULATE")) {
        EXPECT_EQ(whole[0], apart[0]);
        EXPECT_EQ(whole[1], apart[1]);
      }
      for (int result : {0, 1, 2})
        expectNear(whole[result], apart[result], tolerance());
    }
}

TEST_P(LossHead, GradientsMeetDifferencesOfTheLoss) {
  if (GetParam() != "f64")
    GTEST_SKIP() << "differences need f64";
  Head head{.tokens = 6, .width = 4, .vocabulary = 5, .into = false};
  std::string text = head.grouped(2, 4);
  std::vector<Numbers> arguments = head.arguments();
  std::vector<Numbers> results = runWide(text, arguments);
  for (int number : {0, 1})                                    // of x, of w
    for (size_t i = 0; i < arguments[number].size(); i += 5) { // each loss is a compilation
      constexpr double step = 1e-3;
      auto lossAt = [&](double shift) {
        std::vector<Numbers> moved = arguments;
        moved[number][i] += shift;
        return runWide(text, moved)[0][0];
      };
      double slope = (8.0 * (lossAt(step) - lossAt(-step)) - lossAt(2 * step) + lossAt(-2 * step)) /
                     (12.0 * step);
      EXPECT_NEAR(results[1 + number][i], slope, 1e-10) << "argument " << number << ", " << i;
    }
}

TEST_P(LossHead, IsRightOnItsOperandsBytes) {
  Head head;
  auto placed = [&](int dx, int dw) {
    std::string text = head.grouped(3, 6);
    text.replace(text.find(") -> (") + 1, 0, " ");
    std::string plan = ", llm.offsets = array<i64: 0, " + std::to_string(dx) + ", " +
                       std::to_string(dw) + ">, llm.workspace = array<i64: 65536, 65536>} : (";
    text.replace(text.find("} : ("), 5, plan);
    text.replace(text.find("loss_head %x"), 12, "loss_head %a");
    text.replace(text.find("into(%s)"), 8, "into(%b)");
    std::string copies;
    for (const auto &[to, from, type, offset] :
         {std::tuple("%a", "%x", head.x(), "256"), {"%b", "%s", head.weight(), "8192"}})
      copies += std::string("  ") + to + " = llm.concat " + from +
                " {llm.offsets = array<i64: " + offset + ">} : (tensor<" + type + ">) -> tensor<" +
                type + ">\n";
    text.replace(text.find(" {\n"), 3, " attributes {llm.arena = 131072 : i64} {\n" + copies);
    return text;
  };
  RunOptions planned{.plan = false};
  EXPECT_EQ(runHead(head, placed(256, 8192), planned),
            runHead(head, placed(16384, 32768), planned));
}

/// On tensor cores the last chunk may have too few rows for what computes the others.
TEST_P(LossHead, AShortLastChunkChangesNoBit) {
  Head head{.tokens = 144, .width = 64, .vocabulary = 72};
  EXPECT_EQ(runHead(head, head.grouped(128, 128)), runHead(head, head.grouped(128, 144)));
}

TEST_P(LossHead, ThreadsAndChunksChangeNoBit) {
  // Enough work to be distributed over threads; four granules.
  Head head{.tokens = 250, .width = 33, .vocabulary = 130};
  int before = llmmem_threads();
  std::vector<Numbers> one[2];
  for (int threads : {1, 2}) {
    llmmem_set_threads(threads);
    std::vector<Numbers> whole = runHead(head, head.grouped(64, 250));
    EXPECT_EQ(runHead(head, head.grouped(64, 64)), whole) << threads << " threads";
    EXPECT_EQ(runHead(head, head.grouped(64, 128)), whole) << threads << " threads";
    one[threads - 1] = whole;
  }
  llmmem_set_threads(before);
  if (GetParam() != "f32") // a library may compute matmuls of f32
    EXPECT_EQ(one[0], one[1]);
}

LLMMEM_ALL_ELEMENT_TYPES(LossHead);

class EmulatedLossHead : public LossHead {};

/// A library multiplies granules, and wgmma adds whole chunks to the sum of the weight's gradient:
/// in registers alone where a chunk is all tokens, else through an accumulator in memory.
TEST_P(EmulatedLossHead, WgmmaContinuesTheSumOfALibrarysGranules) {
  if (!llmmem::emulation::isEmulatorBuilt())
    GTEST_SKIP() << "built without the emulator";
  const RunOptions byLibrary{
      .emulate = true, .libraryMatmuls = true, .tensorCores = llmmem::TensorCores::WarpgroupTma};
  for (bool outIn : {true, false})
    for (bool into : {true, false}) {
      // Two granules and a short one; more than a tile of dw both ways.
      Head head{.tokens = 260, .width = 264, .vocabulary = 136, .outIn = outIn, .into = into};
      auto runInChunks = [&](int chunk) {
        std::string text = head.grouped(128, chunk);
        text.replace(text.find(" {chunk"), 2, " {llm.library_workspace = 1024 : i64, ");
        return runHead(head, text, byLibrary);
      };
      std::vector<Numbers> apart = runHead(head, head.separate()), whole = runInChunks(260);
      ASSERT_EQ(whole.size(), 3u);
      expectNear(whole[0], apart[0], 1e-6);
      for (int result : {1, 2})
        expectNear(whole[result], apart[result], tolerance());
      EXPECT_TRUE(runInChunks(128) == whole);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedLossHead, ::testing::Values("bf16"),
                         [](const auto &info) { return info.param; });

} // namespace
