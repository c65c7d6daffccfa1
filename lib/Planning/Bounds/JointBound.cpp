//===- JointBound.cpp - A cost bound from several program points ------------------===//

#include "JointBound.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;

JointBound::JointBound(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints, int64_t budget)
    : graph(graph), network(graph, programPoints, programPoints.size()), scale(priceScale(graph)) {
  for (OpIndex programPoint : programPoints)
    capacities.push_back(budget - fixedBytesAt(graph, programPoint));
}

int64_t JointBound::at(llvm::ArrayRef<int64_t> prices) {
  lastCut = network.solve(prices, scale);
  __int128 excess = lastCut;
  for (size_t programPoint = 0; programPoint < prices.size(); ++programPoint)
    excess -= static_cast<__int128>(prices[programPoint]) * capacities[programPoint];
  return excess > 0 ? static_cast<int64_t>((excess + scale - 1) / scale) : 0;
}

/// Adds the choice of the last cut, as a line in the prices.
void JointBound::addLine(llvm::ArrayRef<int64_t> prices) {
  __int128 cost = lastCut;
  llvm::SmallVector<double, 4> excesses;
  for (size_t programPoint = 0; programPoint < prices.size(); ++programPoint) {
    const int64_t held = network.heldBytes(programPoint);
    cost -= static_cast<__int128>(prices[programPoint]) * held;
    excesses.push_back(double(held) - double(capacities[programPoint]));
  }
  program->add(double(cost) / double(scale), excesses);
}

int64_t JointBound::raise(llvm::SmallVectorImpl<int64_t> &prices, int64_t known, int steps,
                          int64_t enough) {
  if (!program)
    program.emplace(prices.size(), double(std::max<int64_t>(known, 1)));
  llvm::SmallVector<int64_t, 4> tried(prices.begin(), prices.end());
  int64_t best = -1;
  for (int step = 0; step < steps; ++step) {
    if (const int64_t proved = at(tried); proved > best) {
      best = proved;
      prices.assign(tried.begin(), tried.end());
    }
    if (best >= known)
      break;
    addLine(tried);
    const std::optional<PriceProgram::Point> point = program->highest();
    if (!point)
      break;
    most = std::min<int64_t>(known, std::ceil(point->height));
    if (most - std::max(best, enough) <= tolerance())
      break;
    // Tries the prices half of the way from the best ones: the highest point moves far as long as
    // lines are few.
    const llvm::SmallVector<int64_t, 4> last = tried;
    for (size_t programPoint = 0; programPoint < tried.size(); ++programPoint)
      tried[programPoint] = static_cast<int64_t>(std::clamp(
          (double(prices[programPoint]) + point->prices[programPoint] * double(scale)) / 2, 0.0,
          0x1p60));
    if (tried == last)
      break;
  }
  return std::max<int64_t>(best, 0);
}
