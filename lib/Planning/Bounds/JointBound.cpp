//===- JointBound.cpp - A cost bound from several moments together ----------------===//

#include "JointBound.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;

JointBound::JointBound(const Graph &graph, llvm::ArrayRef<OpIndex> moments, int64_t budget)
    : graph(graph), network(graph, moments, moments.size()), scale(priceScale(graph)) {
  for (OpIndex moment : moments)
    capacities.push_back(budget - bytesBeside(graph, moment));
}

int64_t JointBound::at(llvm::ArrayRef<int64_t> prices) {
  __int128 excess = network.solve(prices, scale);
  for (size_t moment = 0; moment < prices.size(); ++moment)
    excess -= static_cast<__int128>(prices[moment]) * capacities[moment];
  return excess > 0 ? static_cast<int64_t>((excess + scale - 1) / scale) : 0;
}

int64_t JointBound::heldBytes(size_t moment) const {
  int64_t bytes = 0;
  for (ValueIndex value : network.held(moment))
    bytes += graph.bytes(value);
  return bytes;
}

/// Polyak's subgradient method: the step length would reach `known` if the dual were linear, and is
/// halved after several steps without a gain.
int64_t JointBound::raise(llvm::SmallVectorImpl<int64_t> &prices, int64_t known, int steps) {
  constexpr int patience = 5;
  llvm::SmallVector<int64_t, 4> tried(prices.begin(), prices.end());
  int64_t best = -1;
  double length = 1;
  int stepsWithoutGain = 0;
  for (int step = 0; step < steps; ++step) {
    int64_t proved = at(tried);
    llvm::SmallVector<double, 4> slope;
    double norm = 0;
    for (size_t moment = 0; moment < tried.size(); ++moment) {
      slope.push_back(double(heldBytes(moment)) - double(capacities[moment]));
      if (tried[moment] == 0)
        slope.back() = std::max(slope.back(), 0.0);
      norm += slope.back() * slope.back();
    }
    if (proved > best) {
      best = proved;
      prices.assign(tried.begin(), tried.end());
      stepsWithoutGain = 0;
    } else if (++stepsWithoutGain == patience) {
      stepsWithoutGain = 0;
      length /= 2;
      tried.assign(prices.begin(), prices.end());
      continue;
    }
    if (norm == 0 || best >= known)
      break;
    double stride = length * double(known - proved) * double(scale) / norm;
    for (size_t moment = 0; moment < tried.size(); ++moment)
      tried[moment] = std::clamp(double(tried[moment]) + stride * slope[moment], 0.0, 0x1p60);
  }
  return std::max<int64_t>(best, 0);
}
