//===- ChainProblem.h - Chains of forward steps and their reversal ---------------===//
//
// Steps F1..F(n-1) carry a state of one size on, in place where it is read for the last time; the
// reversal of step i reads state i - 1. With s snapshots and the active state, s + 1
// states fit, the model of revolve (Griewank & Walther, ACM Algorithm 799). A reversal costs
// nothing here, a forward step 1.
//
// Example: makeUnitChain(3): F1 F2 B3 B2 B1 with states x0 x1 x2.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_CHAINPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_CHAINPROBLEM_H

#include "ProblemBuilder.h"

namespace llmmem::planning::test {

inline Problem makeUnitChain(int64_t steps) {
  ProblemBuilder build;
  std::vector<ValueIndex> state{build.value(1)};
  for (int64_t step = 1; step < steps; ++step) {
    state.push_back(build.value(1));
    build.op({state[step - 1]}, {state[step]}, 1);
    build.problem.ops.back().inPlace.push_back({state[step], state[step - 1]});
  }
  ValueIndex gradient = build.value(0);
  build.op({state[steps - 1]}, {gradient}, 0);
  for (int64_t step = steps - 1; step >= 1; --step) {
    ValueIndex next = build.value(0);
    build.op({state[step - 1], gradient}, {next}, 0);
    gradient = next;
  }
  build.problem.keep.push_back(gradient);
  return build.problem;
}

/// F1..Fn, a loss, and Bn..B1, of which Bi reads what Fi read and the gradient of what it wrote.
inline Problem makeSavingChain(int64_t length, int64_t bytes) {
  ProblemBuilder build;
  std::vector<ValueIndex> state{build.value(bytes)};
  for (int64_t step = 0; step < length; ++step) {
    state.push_back(build.value(bytes));
    build.op({state[step]}, {state[step + 1]}, 10);
  }
  ValueIndex gradient = build.value(bytes);
  build.op({state[length]}, {gradient}, 10);
  for (int64_t step = length - 1; step >= 0; --step) {
    const ValueIndex next = build.value(bytes);
    build.op({state[step], gradient}, {next}, 20);
    gradient = next;
  }
  build.problem.keep.push_back(gradient);
  return build.problem;
}

/// Returns the least number of forward steps to reverse `steps` with `snapshots`: r n - C(s + r, r
/// - 1).
inline int64_t revolveSteps(int64_t steps, int64_t snapshots) {
  auto choose = [](int64_t n, int64_t k) {
    int64_t result = 1;
    for (int64_t i = 1; i <= k; ++i)
      result = result * (n - k + i) / i;
    return result;
  };
  int64_t repeats = 0;
  while (choose(snapshots + repeats, snapshots) < steps)
    ++repeats;
  return repeats * steps - choose(snapshots + repeats, repeats - 1);
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_CHAINPROBLEM_H
