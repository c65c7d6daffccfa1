//===- MaxFlowTest.cpp - Minimum cuts as capacities change ------------------------===//

#include "Bounds/MaxFlow.h"
#include "gtest/gtest.h"
#include <random>

using namespace llmmem::planning;

namespace {

/// A network with arcs in any direction, cycles among them; node 0 is the source, 1 the sink.
struct Network {
  struct Arc {
    int32_t from, to, number;
    int64_t capacity;
  };
  explicit Network(std::mt19937_64 &engine) : flow(numNodes) {
    for (int arc = 0; arc < 40; ++arc) {
      const auto from = static_cast<int32_t>(engine() % numNodes);
      const auto to = static_cast<int32_t>(engine() % numNodes);
      if (from != to && to != 0 && from != 1)
        arcs.push_back({from, to, 0, static_cast<int64_t>(engine() % 30)});
    }
    build(flow);
  }
  void build(MaxFlow &other) {
    for (Arc &arc : arcs)
      arc.number = other.addArc(arc.from, arc.to, arc.capacity);
  }
  void expectFlow(int64_t value) const {
    std::vector<int64_t> more(numNodes, 0); // flows in than out
    for (const Arc &arc : arcs) {
      const int64_t amount = flow.flowThrough(arc.number);
      EXPECT_GE(amount, 0);
      EXPECT_LE(amount, arc.capacity);
      more[arc.to] += amount;
      more[arc.from] -= amount;
    }
    EXPECT_EQ(more[0], -value);
    EXPECT_EQ(more[1], value);
    for (int32_t node = 2; node < numNodes; ++node)
      EXPECT_EQ(more[node], 0) << node;
  }

  static constexpr int32_t numNodes = 10;
  std::vector<Arc> arcs;
  MaxFlow flow;
};

/// Some capacities rise and some fall, to 0 among others: value, cut and flow are those of a
/// network that is solved from zero.
TEST(MaxFlow, GoesOnAsFromZero) {
  std::mt19937_64 engine(5);
  for (int round = 0; round < 200; ++round) {
    Network network(engine);
    for (int change = 0; change < 10; ++change) {
      const int64_t value = network.flow.solve(0, 1);
      Network fresh = network;
      fresh.flow = MaxFlow(Network::numNodes);
      fresh.build(fresh.flow);
      ASSERT_EQ(value, fresh.flow.solve(0, 1));
      for (int32_t node = 0; node < Network::numNodes; ++node)
        EXPECT_EQ(network.flow.onSourceSide(node), fresh.flow.onSourceSide(node));
      network.expectFlow(value);
      for (Network::Arc &arc : network.arcs)
        if (engine() % 2) {
          arc.capacity = static_cast<int64_t>(engine() % 3 * (engine() % 30));
          network.flow.setCapacity(arc.number, arc.capacity);
        }
    }
  }
}

/// A flow that is enough is no more than the maximum, and the next one goes on from it.
TEST(MaxFlow, EndsAtWhatIsEnough) {
  std::mt19937_64 engine(6);
  for (int round = 0; round < 200; ++round) {
    Network network(engine), fresh = network;
    const int64_t most = fresh.flow.solve(0, 1);
    const auto enough = static_cast<int64_t>(engine() % 40);
    const int64_t value = network.flow.solve(0, 1, enough);
    EXPECT_LE(value, most);
    EXPECT_GE(value, std::min(enough, most));
    network.expectFlow(value);
    EXPECT_EQ(network.flow.solve(0, 1), most);
  }
}

/// The flow of an infinite cut is no beginning for the next one.
TEST(MaxFlow, AnInfiniteFlowIsForgotten) {
  MaxFlow flow(3);
  const int32_t first = flow.addArc(0, 2, MaxFlow::infinite);
  const int32_t second = flow.addArc(2, 1, MaxFlow::infinite);
  EXPECT_EQ(flow.solve(0, 1), MaxFlow::infinite);
  flow.setCapacity(first, 7);
  flow.setCapacity(second, 3);
  flow.setCapacity(second, 5);
  EXPECT_EQ(flow.solve(0, 1), 5);
  EXPECT_EQ(flow.flowThrough(first), 5);
}

} // namespace
