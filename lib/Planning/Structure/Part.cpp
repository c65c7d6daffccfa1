//===- Part.cpp - A list of ops as a problem of its own ------------------===//

#include "Part.h"
#include "llvm/ADT/DenseMap.h"
#include <numeric>

using namespace llmmem::planning;

Part::Part(const Graph &graph, llvm::ArrayRef<OpIndex> ops,
           llvm::function_ref<bool(ValueIndex)> outlives) {
  llvm::DenseMap<ValueIndex, ValueIndex> local;
  problem.alignment = graph.problem().alignment;
  auto valueOf = [&](ValueIndex value) {
    auto [it, isNew] = local.try_emplace(value, ValueIndex(problem.values.size()));
    if (isNew) {
      problem.values.push_back(graph.problem().values[value]);
      problem.values.back().name.clear();
      if (outlives(value))
        problem.keep.push_back(it->second);
    }
    return it->second;
  };
  for (OpIndex index : ops) {
    const Op &op = graph.op(index);
    Op copy;
    copy.cost = op.cost;
    copy.workspace = op.workspace;
    copy.recompute = op.recompute;
    for (ValueIndex value : op.reads)
      copy.reads.push_back(valueOf(value));
    for (ValueIndex value : op.writes)
      copy.writes.push_back(valueOf(value));
    for (const InPlace &pair : op.inPlace)
      copy.inPlace.push_back({valueOf(pair.write), valueOf(pair.read)});
    problem.ops.push_back(std::move(copy));
  }
}

std::vector<int64_t> Part::describe() const {
  std::vector<int64_t> text;
  for (const Op &op : problem.ops) {
    text.insert(text.end(), {op.cost, op.workspace, op.recompute, int64_t(op.reads.size()),
                             int64_t(op.writes.size()), int64_t(op.inPlace.size())});
    text.insert(text.end(), op.reads.begin(), op.reads.end());
    text.insert(text.end(), op.writes.begin(), op.writes.end());
    for (const InPlace &pair : op.inPlace)
      text.insert(text.end(), {pair.write, pair.read});
  }
  for (const Value &value : problem.values)
    text.insert(text.end(), {value.bytes, value.resident});
  text.insert(text.end(), problem.keep.begin(), problem.keep.end());
  return text;
}

/// Describes each value: what it says about itself, and the ops that name it.
std::vector<std::vector<int64_t>> Part::describeValues() const {
  std::vector<std::vector<int64_t>> texts;
  texts.reserve(problem.values.size());
  for (const Value &value : problem.values)
    texts.push_back({value.bytes, value.resident, false});
  for (ValueIndex value : problem.keep)
    texts[value].back() = true;
  for (const auto &[index, op] : llvm::enumerate(problem.ops)) {
    for (ValueIndex value : op.reads)
      texts[value].push_back(static_cast<int64_t>(2 * index));
    for (ValueIndex value : op.writes)
      texts[value].push_back(static_cast<int64_t>(2 * index + 1));
  }
  return texts;
}

/// Describes the part where values are numbered by what describes them. Those that nothing tells
/// apart are exchangeable.
std::vector<int64_t> Part::describeUnordered() const {
  const std::vector<std::vector<int64_t>> texts = describeValues();
  std::vector<ValueIndex> values(texts.size()), numberOf(texts.size());
  std::iota(values.begin(), values.end(), 0);
  llvm::stable_sort(values, [&](ValueIndex a, ValueIndex b) { return texts[a] < texts[b]; });
  std::vector<int64_t> text = {static_cast<int64_t>(values.size())};
  for (const auto &[number, value] : llvm::enumerate(values)) {
    numberOf[value] = static_cast<ValueIndex>(number);
    text.push_back(static_cast<int64_t>(texts[value].size()));
    llvm::append_range(text, texts[value]);
  }
  for (const Op &op : problem.ops) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    pairs.reserve(op.inPlace.size());
    for (const InPlace &pair : op.inPlace)
      pairs.push_back({numberOf[pair.write], numberOf[pair.read]});
    llvm::sort(pairs);
    text.insert(text.end(), {op.cost, op.workspace, op.recompute, int64_t(pairs.size())});
    for (auto [write, read] : pairs)
      text.insert(text.end(), {write, read});
  }
  return text;
}
