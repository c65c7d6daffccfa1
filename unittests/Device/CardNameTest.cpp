//===- CardNameTest.cpp - Cards as people write them -----------------------===//

#include "llmmem/Device/CardName.h"
#include "llmmem/Device/Topology.h"
#include "gtest/gtest.h"

using namespace llmmem;

/// Returns "count x table, bytes", or the error.
static std::string read(llvm::StringRef name) {
  llvm::Expected<NamedCards> cards = readCardName(name);
  if (!cards)
    return llvm::toString(cards.takeError());
  return std::to_string(cards->count) + " x " + cards->table.name + ", " +
         std::to_string(cards->table.memoryBytes);
}

TEST(CardName, EverySpellingIsOneTable) {
  for (llvm::StringRef name : {"4090", "rtx4090", "RTX 4090", "RTX-4090", "rtx_4090",
                               "NVIDIA GeForce RTX 4090", "rtx4090-24gb", "1x4090", "4090 24 GB"})
    EXPECT_EQ(read(name), "1 x rtx4090, 24000000000") << name.str();
  for (llvm::StringRef name : {"h100", "H100-80GB", "h100 sxm5 80gb", "NVIDIA H100"})
    EXPECT_EQ(read(name), "1 x h100, 80000000000") << name.str();
  EXPECT_EQ(read("rtx a6000"),
            "1 x a6000, " + std::to_string(loadDeviceModel("a6000")->memoryBytes));
  EXPECT_EQ(read("Apple M2 Max").substr(0, 10), "1 x m2-max");
  EXPECT_EQ(read("MI300X").substr(0, 10), "1 x mi300x");
}

TEST(CardName, ANumberBeforeOrAfterAnXCounts) {
  for (llvm::StringRef name : {"2x3090", "2 x RTX 3090", "2*rtx3090", "3090x2", "RTX 3090 x2"})
    EXPECT_EQ(read(name), "2 x rtx3090, 24000000000") << name.str();
  EXPECT_EQ(read("8xh100"), "8 x h100, 80000000000");
  EXPECT_EQ(read("4xmi300x").substr(0, 10), "4 x mi300x");
}

TEST(CardName, ASizeChoosesTheTableOrTheMemory) {
  EXPECT_EQ(read("a100"), "1 x a100, 80000000000");
  EXPECT_EQ(read("a100-80gb"), "1 x a100, 80000000000");
  EXPECT_EQ(read("A100 40GB"), "1 x a100-40gb, 40000000000");
  EXPECT_EQ(read("4090-48gb"), "1 x rtx4090, 48000000000");
  // Programs see less than 24 GB of an L4, and its table says so.
  EXPECT_EQ(read("l4-24gb"), read("l4"));
}

TEST(CardName, ANameThatIsNearIsNamed) {
  EXPECT_NE(read("rtx409O").find("did you mean rtx4090?"), std::string::npos) << read("rtx409O");
  EXPECT_EQ(read("tpu").find("did you mean"), std::string::npos);
}

TEST(CardName, CardsOfOneNodeAreATopology) {
  llvm::Expected<Topology> topology = loadTopology("2x3090");
  ASSERT_TRUE(bool(topology)) << llvm::toString(topology.takeError());
  EXPECT_EQ(topology->numDevices(), 2);
  EXPECT_EQ(topology->leastMemory(), 23'000'000'000);
  EXPECT_EQ(loadDeviceModel("2x3090#0")->name, "rtx3090");
  llvm::Expected<Topology> nodes = loadTopology("16xh100");
  ASSERT_FALSE(bool(nodes));
  EXPECT_NE(llvm::toString(nodes.takeError()).find("between_nodes"), std::string::npos);
  llvm::Expected<DeviceModel> one = loadDeviceModel("8xh100");
  ASSERT_FALSE(bool(one));
  EXPECT_NE(llvm::toString(one.takeError()).find("--topology=8xh100"), std::string::npos);
}
