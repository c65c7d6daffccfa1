//===- Facts.cpp - What the checker reads off a problem ----------------------===//

#include "Facts.h"
#include <algorithm>

namespace llmmem::planning::proofs {

std::string text(Wide number) {
  if (number < 0)
    return "-" + text(-number);
  std::string digits;
  do
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
  while (number /= 10);
  return digits;
}

Facts::Facts(const Problem &problem, Sizes sizes)
    : problem(problem), rounded(sizes == Sizes::Rounded), writer(problem.values.size(), -1),
      readers(problem.values.size()), kept(problem.values.size(), false) {
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
    baseCost += problem.ops[op].cost;
    for (ValueIndex value : problem.ops[op].writes)
      writer[value] = op;
    for (ValueIndex value : problem.ops[op].reads)
      readers[value].push_back(op);
  }
  for (ValueIndex value : problem.keep)
    kept[value] = true;
  for (const Value &value : problem.values)
    resident += value.resident ? value.bytes : 0;
  for (ValueIndex value = 0; isValue(value); ++value)
    mostPadding = std::max(mostPadding, paddingOf(value));
  for (OpIndex op = 0; isOp(op); ++op)
    mostPadding = std::max(mostPadding, workspace(op) - problem.ops[op].workspace);
}

Wide Facts::up(int64_t bytes) const {
  const Wide alignment = rounded ? problem.alignment : 1;
  return (Wide(bytes) + alignment - 1) / alignment * alignment;
}

Wide Facts::paddingAt(OpIndex op) const {
  Wide most = workspace(op) - problem.ops[op].workspace;
  for (ValueIndex value : problem.ops[op].reads)
    most = std::max(most, paddingOf(value));
  for (ValueIndex value : problem.ops[op].writes)
    most = std::max(most, paddingOf(value));
  return most;
}

Wide Facts::bytes(ValueIndex value) const {
  return problem.values[value].resident ? 0 : up(problem.values[value].bytes);
}

/// Says whether the value may die. A value that is kept and cannot be written again lives to the
/// end, and a resident one throughout.
bool Facts::mayDie(ValueIndex value) const {
  if (problem.values[value].resident)
    return false;
  return !kept[value] || (writer[value] >= 0 && problem.ops[writer[value]].recompute);
}

Wide Facts::heldAt(OpIndex op) const {
  const Op &it = problem.ops[op];
  Wide footprint = resident + workspace(op);
  for (ValueIndex value : it.reads)
    footprint += bytes(value);
  for (ValueIndex value : it.writes) {
    // Two results may count on the same operand, which weakens the bound and keeps it true.
    const bool shares = std::any_of(it.inPlace.begin(), it.inPlace.end(), [&](const InPlace &pair) {
      return pair.write == value && mayDie(pair.read) &&
             problem.values[pair.write].bytes <= problem.values[pair.read].bytes;
    });
    footprint += shares ? 0 : bytes(value);
  }
  return footprint;
}

bool Facts::touches(OpIndex op, ValueIndex value) const {
  const Op &it = problem.ops[op];
  return std::count(it.reads.begin(), it.reads.end(), value) ||
         std::count(it.writes.begin(), it.writes.end(), value);
}

/// In program order every value is written before it is read, so one sweep finds all.
std::vector<bool> Facts::descendants(OpIndex op) const {
  std::vector<bool> found(problem.ops.size(), false);
  for (size_t other = op + 1; other < found.size(); ++other)
    for (ValueIndex value : problem.ops[other].reads)
      if (writer[value] >= 0 && (writer[value] == op || found[writer[value]]))
        found[other] = true;
  return found;
}

std::vector<bool> Facts::ancestors(OpIndex op) const {
  std::vector<bool> found(problem.ops.size(), false);
  for (OpIndex other = op; other >= 0; --other)
    if (other == op || found[other])
      for (ValueIndex value : problem.ops[other].reads)
        if (writer[value] >= 0)
          found[writer[value]] = true;
  return found;
}

std::string Facts::nameOfOp(OpIndex op) const {
  return isOp(op) ? "op " + std::to_string(problem.ops[op].id) : "an op that the problem lacks";
}

std::string Facts::nameOfValue(ValueIndex value) const {
  return isValue(value) ? "value " + std::to_string(problem.values[value].id)
                        : "a value that the problem lacks";
}

} // namespace llmmem::planning::proofs
