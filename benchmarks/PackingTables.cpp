//===- PackingTables.cpp - Tables of offsets and of orders ---------------------------===//

#include "PackingTables.h"
#include "Planning/TransformerProblem.h"
#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Planner.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <random>

using namespace llmmem::planning;
using llvm::format;
using llvm::outs;

/// Of the processor.
static double now() { return double(std::clock()) / CLOCKS_PER_SEC; }

static std::vector<Buffer> readBuffers(const std::string &name) {
  const char *directory = std::getenv("LLMMEM_DATA");
  std::string path = (directory ? std::string(directory) : ".") + "/" + name + ".csv";
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) {
    outs() << name << ": skipped, " << path << " cannot be read (LLMMEM_DATA)\n";
    return {};
  }
  return llvm::cantFail(parseBufferCsv((*text)->getBuffer())).buffers;
}

/// Checks by a sweep over time that no two live buffers overlap and all are within the arena.
static bool isSound(const std::vector<Buffer> &buffers, const Packing &packing) {
  std::vector<std::pair<int64_t, int64_t>> events; // time; index + 1 begins, -index - 1 ends
  for (int64_t index = 0; index < int64_t(buffers.size()); ++index) {
    events.push_back({buffers[index].lower, index + 1});
    events.push_back({buffers[index].upper, -index - 1});
  }
  std::sort(events.begin(), events.end());
  std::map<int64_t, int64_t> live; // end by offset
  for (auto [time, event] : events) {
    size_t index = size_t(std::abs(event) - 1);
    int64_t from = packing.offsets[index], to = from + buffers[index].size;
    if (buffers[index].size == 0)
      continue;
    if (event < 0) {
      live.erase(from);
      continue;
    }
    auto after = live.lower_bound(from);
    if (to > packing.arena || (after != live.end() && after->first < to) ||
        (after != live.begin() && std::prev(after)->second > from))
      return false;
    live[from] = to;
  }
  return true;
}

/// Packs and prints one line; returns the seconds.
static double printPacking(const std::string &name, const std::vector<Buffer> &buffers,
                           PackOptions options) {
  if (buffers.empty())
    return 0;
  double start = now();
  Packing packing = pack(buffers, options);
  double seconds = now() - start;
  outs() << format("%-24s %8d %14lld %14lld %8.3f  ", name.c_str(), int(buffers.size()),
                   (long long)packing.lowerBound, (long long)packing.arena, seconds)
         << (isSound(buffers, packing) ? "" : "overlaps! ")
         << (!options.capacity                    ? ""
             : packing.arena <= *options.capacity ? "within its capacity "
                                                  : "above its capacity ")
         << (packing.arena == packing.lowerBound ? "exactly the live sum" : "") << "\n";
  outs().flush();
  return seconds;
}

static const char *packingHeader =
    "instance                  buffers       live sum          arena  seconds\n";

void printMiniMalloc() {
  outs() << "MiniMalloc's challenging instances at their capacity of 1,048,576\n" << packingHeader;
  double seconds = 0;
  for (char name = 'A'; name <= 'K'; ++name) {
    PackOptions options{.capacity = 1048576, .work = packWork(60)};
    seconds += printPacking(std::string("minimalloc/") + name + ".1048576",
                            readBuffers(std::string("minimalloc/") + name + ".1048576"), options);
  }
  outs() << format("all eleven: %.1f seconds\n", seconds);
  printPacking("C, at its live sum", readBuffers("minimalloc/C.1048576"),
               {.capacity = 1039360, .work = packWork(60)});
}

/// A step of many blocks: saved values are live until their backward, temporaries for a few steps.
static std::vector<Buffer> syntheticStep(int64_t count) {
  std::mt19937 random(1);
  std::vector<Buffer> buffers;
  for (int64_t index = 0; index < count; ++index) {
    int64_t size = 256 * (1 + int64_t(random() % 65536));
    bool isSaved = random() % 3 == 0;
    if (isSaved && index < count / 3)
      buffers.push_back({index, 2 * count - 2 * index, size});
    else
      buffers.push_back({index, index + 2 + int64_t(random() % 8), size});
  }
  return buffers;
}

void printLiveRanges() {
  outs() << "Live ranges of training steps, 256-byte sizes\n" << packingHeader;
  for (const char *name : {"gemma1-2b", "gemma1-7b", "gemma2-9b"})
    printPacking(name, readBuffers(std::string("live-ranges/") + name),
                 {.alignment = 256, .capacity = std::nullopt, .work = packWork(10)});
  printPacking("synthetic", syntheticStep(100000),
               {.alignment = 256, .capacity = std::nullopt, .work = packWork(1)});
}

namespace {
/// A step that recomputes as a program of its own: each run an op, each instance a value.
struct Joint {
  Problem problem;
  std::vector<bool> isLate; // per op: a weight gradient or an update
};
} // namespace

static Joint unfolded(const Problem &problem, const std::vector<OpIndex> &steps) {
  Joint joint;
  joint.problem.alignment = problem.alignment;
  std::vector<bool> isWritten(problem.values.size(), false);
  for (const Op &op : problem.ops)
    for (ValueIndex value : op.writes)
      isWritten[value] = true;
  std::vector<ValueIndex> current(problem.values.size(), -1);
  auto add = [&](ValueIndex value) {
    current[value] = ValueIndex(joint.problem.values.size());
    joint.problem.values.push_back(
        {current[value], problem.values[value].bytes, problem.values[value].resident, ""});
    return current[value];
  };
  for (size_t value = 0; value < isWritten.size(); ++value)
    if (!isWritten[value])
      add(ValueIndex(value));
  for (OpIndex index : steps) {
    Op op = problem.ops[index];
    op.id = int64_t(joint.problem.ops.size());
    for (InPlace &pair : op.inPlace)
      pair.read = current[pair.read];
    for (ValueIndex &value : op.reads)
      value = current[value];
    for (ValueIndex &value : op.writes) {
      ValueIndex before = value;
      value = add(value);
      for (InPlace &pair : op.inPlace)
        if (pair.write == before)
          pair.write = value;
    }
    joint.isLate.push_back(op.name == "weight_gradient" || op.name == "update");
    joint.problem.ops.push_back(std::move(op));
  }
  for (ValueIndex value : problem.keep)
    joint.problem.keep.push_back(current[value]);
  return joint;
}

/// The same program with its ops in another order.
static Problem reordered(const Problem &problem, const std::vector<OpIndex> &order) {
  Problem other = problem;
  other.ops.clear();
  for (OpIndex op : order) {
    other.ops.push_back(problem.ops[op]);
    other.ops.back().id = int64_t(other.ops.size()) - 1;
  }
  return other;
}

static std::vector<OpIndex> lateLast(const Joint &joint) {
  std::vector<OpIndex> order;
  for (bool late : {false, true})
    for (OpIndex op = 0; op < OpIndex(joint.isLate.size()); ++op)
      if (joint.isLate[op] == late)
        order.push_back(op);
  return order;
}

/// Ops run in the order in which they become ready, as in eager list schedulers.
static std::vector<OpIndex> breadthFirst(const Problem &problem) {
  Graph graph(problem);
  std::vector<int32_t> missing(graph.numOps(), 0);
  std::deque<OpIndex> ready;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    for (ValueIndex value : graph.op(op).reads)
      missing[op] += graph.writer(value) >= 0;
    if (missing[op] == 0)
      ready.push_back(op);
  }
  std::vector<OpIndex> order;
  while (!ready.empty()) {
    order.push_back(ready.front());
    ready.pop_front();
    for (ValueIndex value : graph.op(order.back()).writes)
      for (OpIndex reader : graph.readers(value))
        if (--missing[reader] == 0)
          ready.push_back(reader);
  }
  return order;
}

void printOrder() {
  outs()
      << "Steps that recompute each block, every run an op: what the order found holds, in percent "
         "of the\nhand-written order's (weight gradients at once, updates inside the backward), "
         "resident bytes "
         "left out\n"
         "blocks attention  given order           given %   found %  seconds\n";
  for (int64_t blocks : {4, 12, 32})
    for (bool fused : {true, false}) {
      Problem step = test::makeTransformer({.blocks = blocks,
                                            .tokens = fused ? 8192 : 2048,
                                            .fusedAttention = fused,
                                            .transientGradients = true});
      PlanOptions options;
      options.policy.kind = PolicyKind::Full;
      Plan hand = plan(step, options);
      Joint joint = unfolded(step, hand.steps);
      options.policy.kind = PolicyKind::Budget; // without a budget: the order alone
      auto print = [&](const char *name, Problem problem) {
        PlanOptions given;
        given.policy.kind = PolicyKind::None;
        double whole = double(hand.peak - step.residentBytes());
        Plan made = plan(problem, options);
        outs() << format("%6d %9s  %-20s %9.2f %9.2f %8.2f\n", int(blocks),
                         fused ? "fused" : "written", name,
                         100 * double(plan(problem, given).peak - step.residentBytes()) / whole,
                         100 * double(made.peak - step.residentBytes()) / whole, made.seconds);
        outs().flush();
      };
      print("hand-written", joint.problem);
      print("weights at the end", reordered(joint.problem, lateLast(joint)));
      print("breadth first", reordered(joint.problem, breadthFirst(joint.problem)));
    }
}
