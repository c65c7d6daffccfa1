//===- WarpgroupKernelsTest.cpp - wgmma against mma.sync -------------------===//
//
// An element's sum has one order, in steps of 16 terms, whatever the instructions; so on the
// emulator, where both are chains of fused multiply-adds, the bits must be equal.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "llmmem/Emulation/Emulator.h"
#include "llmmem/Targets/SplitSums.h"

using namespace llmmem::test;
using llmmem::TensorCores;

namespace {

class WarpgroupKernels : public KernelTest {
protected:
  void SetUp() override {
    if (!llmmem::emulation::isEmulatorBuilt())
      GTEST_SKIP() << "built without the emulator";
  }

  /// Runs `text` by wgmma, its tiles copied by threads and by tensor maps, and by mma.sync, and
  /// expects equal bits.
  void expectSameBits(const std::string &text, const std::vector<Numbers> &arguments) {
    std::vector<Numbers> expected =
        run(text, arguments, {.emulate = true, .tensorCores = TensorCores::Warp});
    ASSERT_FALSE(expected.empty());
    for (TensorCores tensorCores : {TensorCores::Warpgroup, TensorCores::WarpgroupTma}) {
      std::vector<Numbers> found =
          run(text, arguments, {.emulate = true, .tensorCores = tensorCores});
      EXPECT_TRUE(found == expected);
    }
  }
};

class WarpgroupLayouts : public WarpgroupKernels {};

/// Rows that begin at multiples of 16 bytes, several tiles of both matrices with a rest, more steps
/// than there are stages, and a bias, a scale and a sum so far.
TEST_P(WarpgroupLayouts, AllLayouts) {
  expectSameBits(
      R"(func.func @step(%x: tensor<136x264xT>, %w: tensor<264x72xT>, %t: tensor<72x264xT>, %b: tensor<72xT>,
                         %d: tensor<136x72xT>, %s: tensor<264x72xT>)
      -> (tensor<136x72xT>, tensor<136x72xT>, tensor<264x72xT>, tensor<72x264xT>) {
    %0 = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<136x264xT>, tensor<264x72xT>, tensor<72xT>) -> tensor<136x72xT>
    %1 = llm.linear %x, %t layout(out_in) : (tensor<136x264xT>, tensor<72x264xT>) -> tensor<136x72xT>
    %2 = llm.linear_weight_grad %x, %d into(%s) layout(in_out)
      : (tensor<136x264xT>, tensor<136x72xT>, tensor<264x72xT>) -> tensor<264x72xT>
    %3 = llm.linear_weight_grad %x, %d layout(out_in) : (tensor<136x264xT>, tensor<136x72xT>) -> tensor<72x264xT>
    return %0, %1, %2, %3 : tensor<136x72xT>, tensor<136x72xT>, tensor<264x72xT>, tensor<72x264xT>
  })",
      {someNumbers(136 * 264, 1), someNumbers(264 * 72, 2), someNumbers(72 * 264, 3),
       someNumbers(72, 4), someNumbers(136 * 72, 5), someNumbers(264 * 72, 6)});
}

/// Eight blocks have parts of the rows, the last one fewer, and columns end within a line; sums
/// keep their rounding errors, so another order gives the same bits.
TEST_P(WarpgroupKernels, ColumnSumsOfClusters) {
  expectSameBits(
      R"(func.func @step(%x: tensor<1100x72xT>, %dy: tensor<1100x72xT>, %r: tensor<1100xf32>, %m: tensor<1100xf32>, %b: tensor<72xT>)
      -> (tensor<72xT>, tensor<72xT>, tensor<72xT>) {
    %0 = llm.sum_rows %dy : (tensor<1100x72xT>) -> tensor<72xT>
    %1 = llm.sum_rows %dy into(%b) : (tensor<1100x72xT>, tensor<72xT>) -> tensor<72xT>
    %2 = llm.norm_weight_grad %x, %dy, %r mean(%m) into(%b)
      : (tensor<1100x72xT>, tensor<1100x72xT>, tensor<1100xf32>, tensor<1100xf32>, tensor<72xT>) -> tensor<72xT>
    return %0, %1, %2 : tensor<72xT>, tensor<72xT>, tensor<72xT>
  })",
      {someNumbers(1100 * 72, 1), someNumbers(1100 * 72, 2), someNumbers(1100, 3),
       someNumbers(1100, 4), someNumbers(72, 5)});
}

class ClusterSums : public WarpgroupKernels {
protected:
  /// Of rows of so many lines of 128 bytes, which clusters of blocks take, and half of one.
  void expectSameSums(int64_t lines) {
    constexpr int64_t rows = 1030; // no multiple of the blocks
    int64_t ofLine = GetParam() == "f64"   ? 16
                     : GetParam() == "f32" ? 32
                                           : 64,
            width = lines * ofLine + ofLine / 2;
    std::string text =
        R"(func.func @step(%dy: tensor<1030x$xT>, %b: tensor<$xT>) -> (tensor<$xT>, tensor<$xT>) {
      %0 = llm.sum_rows %dy : (tensor<1030x$xT>) -> tensor<$xT>
      %1 = llm.sum_rows %dy into(%b) : (tensor<1030x$xT>, tensor<$xT>) -> tensor<$xT>
      return %0, %1 : tensor<$xT>, tensor<$xT>
    })";
    for (size_t at; (at = text.find('$')) != std::string::npos;)
      text.replace(at, 1, std::to_string(width));
    expectSameBits(text, {someNumbers(rows * width, 1), someNumbers(width, 2)});
  }
};

/// More blocks than multiprocessors, so that each has 256 threads.
TEST_P(ClusterSums, EightBlocksOf256Threads) { expectSameSums(17); }

/// So many lines that clusters of eight would be more than three blocks for each multiprocessor.
TEST_P(ClusterSums, FourBlocks) { expectSameSums(50); }

INSTANTIATE_TEST_SUITE_P(Types, ClusterSums, ::testing::Values("f32", "f64", "bf16"),
                         [](const auto &info) { return info.param; });

/// Tests rows that must be copied element by element.
TEST_P(WarpgroupKernels, OddRows) {
  expectSameBits(
      R"(func.func @step(%x: tensor<67x131xT>, %w: tensor<131x67xT>, %t: tensor<67x131xT>) -> (tensor<67x67xT>, tensor<67x67xT>) {
    %0 = llm.linear %x, %w layout(in_out) : (tensor<67x131xT>, tensor<131x67xT>) -> tensor<67x67xT>
    %1 = llm.linear %x, %t layout(out_in) : (tensor<67x131xT>, tensor<67x131xT>) -> tensor<67x67xT>
    return %0, %1 : tensor<67x67xT>, tensor<67x67xT>
  })",
      {someNumbers(67 * 131, 1), someNumbers(131 * 67, 2), someNumbers(67 * 131, 3)});
}

/// Whole tiles, whose sums neighbouring threads exchange, and others, each with an epilogue.
TEST_P(WarpgroupLayouts, Epilogues) {
  for (const char *rows : {"128", "70"}) {
    std::string text =
        R"(func.func @step(%x: tensor<Rx72xT>, %w: tensor<72x128xT>, %b: tensor<128xT>, %r: tensor<Rx128xT>)
        -> (tensor<Rx128xT>, tensor<Rx128xT>) {
      %p, %y = llm.kernel(%i = %x, %m = %w, %c = %b, %v = %r)
          : (tensor<Rx72xT>, tensor<72x128xT>, tensor<128xT>, tensor<Rx128xT>) -> (tensor<Rx128xT>, tensor<Rx128xT>) {
        %0 = llm.linear %i, %m bias(%c) layout(in_out) : (tensor<Rx72xT>, tensor<72x128xT>, tensor<128xT>) -> tensor<Rx128xT>
        %1 = llm.gelu %0 : tensor<Rx128xT>
        %2 = llm.add %1, %v : tensor<Rx128xT>
        llm.yield %0, %2 : tensor<Rx128xT>, tensor<Rx128xT>
      }
      return %p, %y : tensor<Rx128xT>, tensor<Rx128xT>
    })";
    for (size_t at; (at = text.find("<Rx")) != std::string::npos;)
      text.replace(at + 1, 1, rows);
    int64_t count = std::stoi(rows);
    expectSameBits(text, {someNumbers(count * 72, 1), someNumbers(72 * 128, 2), someNumbers(128, 3),
                          someNumbers(count * 128, 4)});
  }
}

/// More tiles than an H100 has multiprocessors: a block has several, of one step each, so that
/// copies run two tiles ahead.
TEST_P(WarpgroupLayouts, SeveralTilesOfABlock) {
  expectSameBits(
      R"(func.func @step(%q: tensor<35x72x64xT>, %k: tensor<35x72x64xT>) -> tensor<35x4x72x72xT> {
    %0 = llm.attention_scores %q, %k {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.5 : f64}
      : (tensor<35x72x64xT>, tensor<35x72x64xT>) -> tensor<35x4x72x72xT>
    return %0 : tensor<35x4x72x72xT>
  })",
      {someNumbers(35 * 72 * 64, 1), someNumbers(35 * 72 * 64, 2)});
}

/// The same of tiles that tensor maps bring, with more steps than stages, so that copies of a
/// block's second tile go into stages that its first one has used.
TEST_P(WarpgroupLayouts, SeveralTilesByMaps) {
  std::string text =
      R"(func.func @step(%x: tensor<33800x264xT>, %w: tensor<264x64xT>) -> tensor<33800x64xT> {
    %0 = llm.linear %x, %w layout(in_out) : (tensor<33800x264xT>, tensor<264x64xT>) -> tensor<33800x64xT>
    return %0 : tensor<33800x64xT>
  })";
  std::vector<Numbers> arguments = {someNumbers(33800 * 264, 1), someNumbers(264 * 64, 2)};
  EXPECT_TRUE(run(text, arguments, {.emulate = true, .tensorCores = TensorCores::WarpgroupTma}) ==
              run(text, arguments, {.emulate = true, .tensorCores = TensorCores::Warpgroup}));
}

/// The larger tile is shared where pairs of blocks have it, else the smaller one; none in a launch
/// of one or two turns, in which blocks wait for each other longer than that saves, or where tiles
/// are odd in number both ways.
TEST(SharedTiles, AreThoseOfLongLaunches) {
  using namespace llmmem::llm;
  EXPECT_EQ(sharedTileOf({128, 256}, {8192, 4096, 64}), SharedTile::OfB);
  EXPECT_EQ(sharedTileOf({256, 128}, {8192, 4096, 64}), SharedTile::OfA);
  EXPECT_EQ(sharedTileOf({256, 128}, {32768, 1000 + 128, 64}), SharedTile::OfB);
  EXPECT_EQ(sharedTileOf({128, 256}, {8192, 1024, 64}), SharedTile::None);
  EXPECT_EQ(sharedTileOf({128, 256}, {8192, 1024, 64}, TileSharing::Always), SharedTile::OfB);
  EXPECT_EQ(sharedTileOf({256, 192}, {8192, 768, 48}), SharedTile::None);
  EXPECT_EQ(sharedTileOf({128, 128}, {384, 384, 6400}), SharedTile::None);
}

/// A size that is asked for is taken but where a product cannot have it: in parts, or with a
/// softmax over 128 columns.
TEST(LimitedTiles, AreTheOnlyOnes) {
  using namespace llmmem::llm;
  WarpgroupProduct product = {8192, 4096, 64};
  TileLimits limits = {.only = warpgroupTileOf("256x64")};
  EXPECT_EQ(fastestLaunch(product, limits).size.columns, 64);
  EXPECT_EQ(fastestLaunch(product, limits, /*columns=*/128).size.columns, 128);
  // The largest has no registers for others' sums, and those for parts alone no whole columns.
  product.parts = 2, limits.only = warpgroupTileOf("256x192");
  EXPECT_NE(fastestLaunch(product, limits).size, limits.only);
  product.parts = 1, limits.only = warpgroupTileOf("256x160");
  EXPECT_NE(fastestLaunch(product, limits).size, limits.only);
  product.parts = 2;
  EXPECT_EQ(fastestLaunch(product, limits).size, limits.only);
  // A share of 15 fragments of each row has 30 numbers of a thread, which are no whole vectors.
  product.parts = 4, limits.only = warpgroupTileOf("128x240");
  EXPECT_NE(fastestLaunch(product, limits).size, limits.only);
  EXPECT_FALSE(warpgroupTileOf("256x65"));
  EXPECT_FALSE(warpgroupTileOf("256x64x1"));
}

/// A step of 128 x 256 takes 1231 cycles, a fortieth less where B is shared. Blocks that share out
/// the terms of tiles without a pair fetch 28 bytes a cycle, with one 40.
TEST(SharedTiles, TakeLessTime) {
  using namespace llmmem::llm;
  auto shareOf = [](const WarpgroupProduct &product) {
    return cyclesOfTiles({128, 256}, product, SharedTile::OfB) / cyclesOfTiles({128, 256}, product);
  };
  EXPECT_NEAR(shareOf({8192, 4096, 64}), 0.988, 0.001);
  EXPECT_GT(shareOf({8192, 1024, 64}), 1);
  EXPECT_NEAR(shareOf({768, 2304, 128, 1, 2, /*parts=*/2}), 0.724, 0.001);
}

/// GPT-2's weights over 8192 tokens: whole sums must take a twentieth more time, parts in the
/// workspace more.
TEST(SharedTerms, AreThoseOfFewTiles) {
  using namespace llmmem::llm;
  EXPECT_EQ(clusterPartsOf(768, 768, 8192), 4);
  EXPECT_EQ(clusterPartsOf(768, 2304, 8192), 2);
  EXPECT_EQ(clusterPartsOf(768, 3072, 8192), 2);
  EXPECT_EQ(clusterPartsOf(3072, 768, 8192), 2);
  EXPECT_EQ(clusterPartsOf(4096, 1024, 8192), 1);
  EXPECT_EQ(clusterPartsOf(764, 768, 8192), 1); // no tensor maps
}

/// `text` with its sizes: R rows of x, C columns of the result, and K terms of each.
std::string withSizes(std::string text, int rows, int columns, int terms) {
  for (auto [name, size] : {std::pair('R', rows), std::pair('C', columns), std::pair('K', terms)})
    for (size_t at; (at = text.find(std::string("$") + name)) != std::string::npos;)
      text.replace(at, 2, std::to_string(size));
  return text;
}

/// Two blocks share the tiles of B (two rows of tiles, three columns), then those of A (five and
/// four); rows, columns and terms end inside of a tile. Against sums in double precision, too.
TEST_P(WarpgroupLayouts, BlocksShareTiles) {
  constexpr int terms = 520;
  for (auto [rows, columns] : {std::pair(200, 136), std::pair(600, 200)}) {
    std::string text = withSizes(
        R"(func.func @step(%x: tensor<$Rx$KxT>, %w: tensor<$Kx$CxT>, %t: tensor<$Cx$KxT>, %xt: tensor<$Kx$RxT>)
        -> (tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Cx$RxT>) {
      %0 = llm.linear %x, %w layout(in_out) : (tensor<$Rx$KxT>, tensor<$Kx$CxT>) -> tensor<$Rx$CxT>
      %1 = llm.linear %x, %t layout(out_in) : (tensor<$Rx$KxT>, tensor<$Cx$KxT>) -> tensor<$Rx$CxT>
      %2 = llm.linear_weight_grad %xt, %w layout(in_out) : (tensor<$Kx$RxT>, tensor<$Kx$CxT>) -> tensor<$Rx$CxT>
      %3 = llm.linear_weight_grad %xt, %w layout(out_in) : (tensor<$Kx$RxT>, tensor<$Kx$CxT>) -> tensor<$Cx$RxT>
      return %0, %1, %2, %3 : tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Cx$RxT>
    })",
        rows, columns, terms);
    Numbers x = someNumbers(rows * terms, 1), w = someNumbers(terms * columns, 2), t(w.size()),
            xt(x.size()), expected(rows * columns, 0.0);
    for (int k = 0; k < terms; ++k) {
      for (int row = 0; row < rows; ++row)
        xt[k * rows + row] = x[row * terms + k];
      for (int column = 0; column < columns; ++column)
        t[column * terms + k] = w[k * columns + column];
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
          expected[row * columns + column] += x[row * terms + k] * w[k * columns + column];
    }
    std::vector<Numbers> found = run(text, {x, w, t, xt},
                                     {.emulate = true,
                                      .tensorCores = TensorCores::WarpgroupTma,
                                      .tileSharing = llmmem::llm::TileSharing::Always});
    EXPECT_TRUE(found ==
                run(text, {x, w, t, xt}, {.emulate = true, .tensorCores = TensorCores::Warpgroup}));
    for (int which : {0, 1, 2})
      expectNear(found[which], expected, tolerance());
  }
}

/// Parts of a long sum, of which the last is shorter and ends inside of a step, tiles beyond the
/// end of C, with and without a sum so far. By wgmma there are other parts than by mma.sync, so
/// bits are not equal; by tensor maps the same, or, of the larger one, those of a cluster.
TEST_P(WarpgroupLayouts, PartsOfALongSumMeet) {
  for (auto [tokens, in, out] : {std::array{3000, 264, 136}, std::array{5950, 72, 72}}) {
    llmmem::llm::SumParts parts = llmmem::llm::sumPartsOf(in, out, tokens, /*byWarpgroup=*/true);
    EXPECT_GT(parts.count, 1);
    EXPECT_LT(tokens, parts.count * parts.terms);
    EXPECT_EQ(llmmem::llm::clusterPartsOf(in, out, tokens) > 1, in == 264);
    std::string text = withSizes(
        R"(func.func @step(%x: tensor<$Kx$RxT>, %d: tensor<$Kx$CxT>, %s: tensor<$Rx$CxT>)
        -> (tensor<$Rx$CxT>, tensor<$Cx$RxT>) {
      %0 = llm.linear_weight_grad %x, %d into(%s) layout(in_out)
        : (tensor<$Kx$RxT>, tensor<$Kx$CxT>, tensor<$Rx$CxT>) -> tensor<$Rx$CxT>
      %1 = llm.linear_weight_grad %x, %d layout(out_in) : (tensor<$Kx$RxT>, tensor<$Kx$CxT>) -> tensor<$Cx$RxT>
      return %0, %1 : tensor<$Rx$CxT>, tensor<$Cx$RxT>
    })",
        in, out, tokens);
    Numbers x = someNumbers(tokens * in, 1), dy = someNumbers(tokens * out, 2),
            sum = someNumbers(in * out, 3), expected = sum, turned(in * out, 0.0);
    for (int token = 0; token < tokens; ++token)
      for (int i = 0; i < in; ++i)
        for (int o = 0; o < out; ++o) {
          double term = x[token * in + i] * dy[token * out + o];
          expected[i * out + o] += term;
          turned[o * in + i] += term;
        }
    std::vector<std::vector<Numbers>> found;
    for (TensorCores tensorCores : {TensorCores::Warpgroup, TensorCores::WarpgroupTma}) {
      found.push_back(run(text, {x, dy, sum}, {.emulate = true, .tensorCores = tensorCores}));
      expectNear(found.back()[0], expected, tolerance());
      expectNear(found.back()[1], turned, tolerance());
    }
    if (in == 72)
      EXPECT_TRUE(found[0] == found[1]);
  }
}

class ClusterTerms : public WarpgroupKernels {
protected:
  /// A gradient of $R x $C over $K terms by tensor maps, by so many blocks of a cluster, near
  /// double precision.
  void expectNearSums(int terms, int rows, int columns, int64_t parts) {
    EXPECT_EQ(llmmem::llm::clusterPartsOf(rows, columns, terms), parts);
    x = someNumbers(terms * rows, 1), dy = someNumbers(terms * columns, 2);
    expected.assign(rows * columns, 0.0);
    for (int k = 0; k < terms; ++k)
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
          expected[row * columns + column] += x[k * rows + row] * dy[k * columns + column];
    std::string text = withSizes(
        R"(func.func @step(%x: tensor<$Kx$RxT>, %d: tensor<$Kx$CxT>) -> tensor<$Rx$CxT> {
      %0 = llm.linear_weight_grad %x, %d layout(in_out) : (tensor<$Kx$RxT>, tensor<$Kx$CxT>) -> tensor<$Rx$CxT>
      return %0 : tensor<$Rx$CxT>
    })",
        rows, columns, terms);
    expectNear(runByMaps(text, {x, dy})[0], expected, tolerance());
  }

  std::vector<Numbers> runByMaps(const std::string &text, const std::vector<Numbers> &arguments) {
    return run(text, arguments, {.emulate = true, .tensorCores = TensorCores::WarpgroupTma});
  }

  Numbers x, dy, expected;
};

/// Where pairs of blocks share tiles and where they do not; the last part is shorter and ends
/// inside of a step, and tiles end beyond C.
TEST_P(ClusterTerms, InPartsOfUnequalLength) {
  expectNearSums(1030, 136, 264, 2);
  expectNearSums(3000, 136, 264, 4);
  expectNearSums(1000, 264, 136, 2);
  expectNearSums(3000, 264, 136, 4);
}

/// Four parts of tiles of 160 columns, of which the last box of 64 is half another tile's, and five
/// fragments of each row are a share; and, with LLMMEM_LONG, two of tiles of 240.
TEST_P(ClusterTerms, InTilesOfPartsOfBoxes) {
  using namespace llmmem::llm;
  auto sizeOf = [](int64_t rows, int64_t columns, int64_t steps, int64_t parts) {
    return fastestLaunch({rows, columns, steps, 1, 2, parts}).size;
  };
  EXPECT_EQ(sizeOf(760, 760, 33, 4), WarpgroupTileSize(128, 160));
  expectNearSums(2050, 760, 760, 4);
  EXPECT_EQ(sizeOf(768, 2304, 64, 2), WarpgroupTileSize(128, 240));
  if (std::getenv("LLMMEM_LONG"))
    expectNearSums(4090, 768, 2304, 2);
}

/// With a sum so far, an epilogue of which the same bits follow, and the other layout.
TEST_P(ClusterTerms, WithWhatFollows) {
  constexpr int terms = 1030, rows = 136, columns = 264;
  expectNearSums(terms, rows, columns, 2);
  Numbers sum = someNumbers(rows * columns, 3);
  std::vector<Numbers> found = runByMaps(
      withSizes(R"(func.func @step(%x: tensor<$Kx$RxT>, %d: tensor<$Kx$CxT>, %s: tensor<$Rx$CxT>)
      -> (tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Rx$CxT>) {
    %0 = llm.linear_weight_grad %x, %d into(%s) layout(in_out)
      : (tensor<$Kx$RxT>, tensor<$Kx$CxT>, tensor<$Rx$CxT>) -> tensor<$Rx$CxT>
    %1 = llm.linear_weight_grad %d, %x layout(out_in) : (tensor<$Kx$CxT>, tensor<$Kx$RxT>) -> tensor<$Rx$CxT>
    %2 = llm.add %1, %s : tensor<$Rx$CxT>
    %3 = llm.kernel(%i = %x, %e = %d, %v = %s) : (tensor<$Kx$RxT>, tensor<$Kx$CxT>, tensor<$Rx$CxT>) -> tensor<$Rx$CxT> {
      %4 = llm.linear_weight_grad %i, %e layout(in_out) : (tensor<$Kx$RxT>, tensor<$Kx$CxT>) -> tensor<$Rx$CxT>
      %5 = llm.add %4, %v : tensor<$Rx$CxT>
      llm.yield %5 : tensor<$Rx$CxT>
    }
    return %0, %1, %2, %3 : tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Rx$CxT>, tensor<$Rx$CxT>
  })",
                rows, columns, terms),
      {x, dy, sum});
  expectNear(found[1], expected, tolerance());
  for (auto [all, more] : llvm::zip_equal(expected, sum))
    all += more;
  expectNear(found[0], expected, tolerance());
  EXPECT_TRUE(found[3] == found[2]);
}

INSTANTIATE_TEST_SUITE_P(Types, ClusterTerms, ::testing::Values("bf16"),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Types, WarpgroupKernels, ::testing::Values("bf16", "f16"),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Types, WarpgroupLayouts, ::testing::Values("bf16"),
                         [](const auto &info) { return info.param; });

} // namespace
