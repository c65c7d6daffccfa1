//===- MicroBatches.cpp - Steps that do the same several times -----------------===//

#include "MicroBatches.h"
#include <algorithm>
#include <map>
#include <set>

using namespace llmmem::planning;

//===----------------------------------------------------------------------===//
// What is alike
//===----------------------------------------------------------------------===//

namespace {
class Finder {
public:
  explicit Finder(const Graph &graph) : graph(graph) {}
  std::optional<MicroBatches> run();
  std::vector<MicroBatches> runForKinds();

private:
  void collect();
  bool areAlike(int32_t first, int32_t number) const;
  MicroBatches kindOf(llvm::ArrayRef<int32_t> numbers) const;
  std::optional<std::vector<int64_t>> describe(OpIndex op) const;
  void findTasks();

  const Graph &graph;
  MicroBatches found;
};
} // namespace

void Finder::collect() {
  std::map<int64_t, int32_t> numbers;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (graph.op(op).microBatch)
      numbers.try_emplace(*graph.op(op).microBatch, 0);
  int32_t next = 0;
  for (auto &[label, number] : numbers)
    number = next++;
  found.ops.resize(numbers.size());
  found.numberOf.assign(graph.numOps(), -1);
  found.placeOf.assign(graph.numOps(), -1);
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    if (!graph.op(op).microBatch)
      continue;
    std::vector<OpIndex> &ops = found.ops[found.numberOf[op] = numbers[*graph.op(op).microBatch]];
    found.placeOf[op] = static_cast<int32_t>(ops.size());
    ops.push_back(op);
  }
}

/// Returns what must be equal for the n-th ops of all micro-batches, or nothing where one reads
/// bytes of another. Values of 0 bytes only order ops, which the order of tasks keeps.
std::optional<std::vector<int64_t>> Finder::describe(OpIndex op) const {
  const Op &entry = graph.op(op);
  std::vector<int64_t> facts{entry.cost, entry.workspace, entry.recompute,
                             static_cast<int64_t>(entry.phase), entry.block.value_or(-1)};
  for (ValueIndex value : entry.reads) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || graph.bytes(value) == 0)
      continue;
    const bool isOwn = found.numberOf[writer] == found.numberOf[op];
    if (!isOwn && found.numberOf[writer] >= 0)
      return std::nullopt;
    facts.push_back(graph.bytes(value));
    if (isOwn)
      facts.push_back(found.placeOf[writer]);
    else if (graph.op(writer).recompute)
      facts.push_back(-1 - int64_t(writer));
  }
  for (ValueIndex value : entry.writes)
    if (graph.bytes(value) > 0)
      facts.push_back(graph.bytes(value));
  return facts;
}

bool Finder::areAlike(int32_t first, int32_t number) const {
  const std::vector<OpIndex> &ops = found.ops[first], &other = found.ops[number];
  if (ops.size() != other.size())
    return false;
  for (size_t place = 0; place < ops.size(); ++place) {
    std::optional<std::vector<int64_t>> facts = describe(ops[place]);
    if (!facts || facts != describe(other[place]))
      return false;
  }
  return true;
}

/// Finds the tasks. A task ends wherever, in some micro-batch, the next op in program order is of
/// no micro-batch and runs once, or is of another micro-batch.
void Finder::findTasks() {
  std::vector<bool> begins(found.ops.front().size() + 1, false);
  int32_t last = -1, inFlight = 0;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    const int32_t number = found.numberOf[op];
    if (number < 0) {
      // An op of another kind of micro-batches may stand here, whether it may run again or not.
      last = graph.op(op).recompute && !graph.op(op).microBatch ? last : -1;
      continue;
    }
    const int32_t place = found.placeOf[op];
    begins[place] = begins[place] || number != last;
    last = number;
    found.mostInFlight = std::max(found.mostInFlight, inFlight += place == 0);
    inFlight -= place + 1 == static_cast<int32_t>(found.ops.front().size());
  }
  begins.front() = begins.back() = true;
  for (size_t place = 0; place < begins.size(); ++place)
    if (begins[place])
      found.tasks.push_back(static_cast<int32_t>(place));
}

std::optional<MicroBatches> Finder::run() {
  collect();
  if (found.count() < 2)
    return std::nullopt;
  for (int32_t number = 1; number < found.count(); ++number)
    if (!areAlike(0, number))
      return std::nullopt;
  findTasks();
  return std::move(found);
}

/// Returns some of the micro-batches as if there were no others.
MicroBatches Finder::kindOf(llvm::ArrayRef<int32_t> numbers) const {
  Finder only(graph);
  only.found.numberOf.assign(graph.numOps(), -1);
  only.found.placeOf = found.placeOf;
  for (auto [at, number] : llvm::enumerate(numbers)) {
    only.found.ops.push_back(found.ops[number]);
    for (OpIndex op : found.ops[number])
      only.found.numberOf[op] = static_cast<int32_t>(at);
  }
  only.findTasks();
  return std::move(only.found);
}

std::vector<MicroBatches> Finder::runForKinds() {
  collect();
  if (found.count() < 2)
    return {};
  std::vector<std::vector<int32_t>> kinds;
  for (int32_t number = 0; number < found.count(); ++number) {
    if (!areAlike(number, number)) // it reads bytes of another
      return {};
    auto known = llvm::find_if(
        kinds, [&](const std::vector<int32_t> &kind) { return areAlike(kind.front(), number); });
    if (known == kinds.end())
      kinds.push_back({number});
    else
      known->push_back(number);
  }
  std::vector<MicroBatches> all;
  for (const std::vector<int32_t> &kind : kinds)
    all.push_back(kindOf(kind));
  return all;
}

std::optional<MicroBatches> llmmem::planning::findMicroBatches(const Graph &graph) {
  return Finder(graph).run();
}

std::vector<MicroBatches> llmmem::planning::findKindsOfMicroBatches(const Graph &graph) {
  return Finder(graph).runForKinds();
}

//===----------------------------------------------------------------------===//
// The problem of one
//===----------------------------------------------------------------------===//

ProblemPart::ProblemPart(const Graph &graph) : graph(graph), ofValue(graph.numValues(), -1) {
  part.alignment = graph.problem().alignment;
}

ValueIndex ProblemPart::valueOf(ValueIndex value) {
  if (ofValue[value] < 0) {
    ofValue[value] = static_cast<ValueIndex>(part.values.size());
    part.values.push_back(graph.problem().values[value]);
    part.values.back().id = ofValue[value];
  }
  return ofValue[value];
}

ValueIndex ProblemPart::addToken() {
  ValueIndex token = static_cast<ValueIndex>(part.values.size());
  part.values.push_back({token, 0, /*resident=*/false, "order"});
  return token;
}

Op ProblemPart::copyOf(OpIndex op, llvm::function_ref<bool(ValueIndex)> isNeeded) {
  const Op &from = graph.op(op);
  Op to = from;
  to.id = static_cast<int64_t>(part.ops.size());
  to.reads.clear();
  to.writes.clear();
  to.inPlace.clear();
  for (ValueIndex value : from.reads)
    if (ofValue[value] >= 0 || isNeeded(value))
      to.reads.push_back(valueOf(value));
  for (ValueIndex value : from.writes)
    to.writes.push_back(valueOf(value));
  for (InPlace pair : from.inPlace)
    if (ofValue[pair.read] >= 0)
      to.inPlace.push_back({ofValue[pair.write], ofValue[pair.read]});
  return to;
}

MicroBatchProblem::MicroBatchProblem(const Graph &graph, const MicroBatches &microBatches)
    : ProblemPart(graph), microBatches(microBatches) {
  findShared();
  addOps();
}

/// Finds the ops of no micro-batch that may run again, as far as the first one depends on them.
void MicroBatchProblem::findShared() {
  shared.assign(graph.numOps(), false);
  for (OpIndex op = graph.numOps(); op-- > 0;)
    if (microBatches.numberOf[op] == 0 || shared[op])
      for (ValueIndex value : graph.op(op).reads)
        if (OpIndex writer = graph.writer(value);
            writer >= 0 && microBatches.numberOf[writer] < 0 && graph.op(writer).recompute)
          shared[writer] = true;
}

/// Adds an op. What writes a value is in the problem, or comes between tasks.
void MicroBatchProblem::addOp(OpIndex op) {
  Op to = copyOf(op, [](ValueIndex) { return false; });
  if (!shared[op]) {
    to.reads.push_back(barrier);
    to.writes.push_back(tokens.emplace_back(addToken()));
  }
  part.ops.push_back(std::move(to));
  opOf.push_back(op);
}

/// Adds a barrier before `task` of the first micro-batch, or after its last.
void MicroBatchProblem::addBarrier(int32_t task) {
  const std::vector<OpIndex> &ops = microBatches.ops.front();
  const bool isFirst = task == 0, isLast = task == microBatches.numTasks();
  const OpIndex after = isFirst ? -1 : ops[microBatches.tasks[task] - 1];
  const OpIndex before = isLast ? graph.numOps() : ops[microBatches.tasks[task]];
  Op to;
  to.id = static_cast<int64_t>(part.ops.size());
  to.recompute = false;
  to.phase = graph.op(isLast ? ops.back() : before).phase;
  to.name = "between tasks";
  to.reads = std::move(tokens);
  tokens.clear();
  for (OpIndex op = after + 1; op < before; ++op) {
    if (microBatches.numberOf[op] >= 0 || shared[op])
      continue;
    for (ValueIndex value : graph.op(op).reads)
      if (graph.bytes(value) > 0 && ofValue[value] >= 0 &&
          !llvm::is_contained(to.reads, ofValue[value]) &&
          !llvm::is_contained(to.writes, ofValue[value]))
        to.reads.push_back(ofValue[value]);
    for (ValueIndex value : graph.op(op).writes)
      if (graph.bytes(value) > 0 && llvm::any_of(graph.readers(value), [&](OpIndex reader) {
            return microBatches.numberOf[reader] == 0;
          }))
        to.writes.push_back(valueOf(value));
  }
  barrier = addToken();
  to.writes.push_back(barrier);
  part.ops.push_back(std::move(to));
  opOf.push_back(-1);
}

void MicroBatchProblem::addOps() {
  const std::vector<OpIndex> &ops = microBatches.ops.front();
  int32_t task = 0;
  for (OpIndex op = 0; op <= ops.back(); ++op) {
    if (microBatches.numberOf[op] != 0 && !shared[op])
      continue;
    if (microBatches.numberOf[op] == 0 && microBatches.placeOf[op] == microBatches.tasks[task])
      addBarrier(task++);
    addOp(op);
  }
  addBarrier(task);
}

Problem MicroBatchProblem::problemWithLess(int64_t bytes) const {
  Problem less = part;
  for (size_t op = 0; op < opOf.size(); ++op)
    if (opOf[op] < 0 && part.ops[op].phase == Phase::Backward) {
      less.ops[op].workspace = bytes;
      break;
    }
  return less;
}

/// Among the later tasks, one whose blocks had a backward in an earlier task runs what is left of
/// them.
Problem MicroBatchProblem::problemOfTasks() const {
  Problem tasks = part;
  std::set<int64_t> ofEarlier, ofTask; // blocks that had a backward
  bool isLeft = false;
  for (size_t op = 0; op < opOf.size(); ++op) {
    Op &entry = tasks.ops[op];
    if (opOf[op] >= 0) {
      if (entry.phase != Phase::Backward)
        continue;
      isLeft = isLeft || (entry.block && ofEarlier.count(*entry.block));
      if (entry.block)
        ofTask.insert(*entry.block);
    } else {
      entry.phase = op > 0 ? tasks.ops[op - 1].phase : entry.phase;
      ofEarlier.merge(ofTask);
      ofTask.clear();
    }
    if (isLeft)
      entry.phase = Phase::Update;
  }
  return tasks;
}

//===----------------------------------------------------------------------===//
// The schedule of all
//===----------------------------------------------------------------------===//

bool MicroBatchProblem::isSchedule(llvm::ArrayRef<OpIndex> steps) const {
  std::vector<bool> ran(graph.numOps(), false);
  for (OpIndex op : steps) {
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && !ran[writer])
        return false;
    if (ran[op] && !graph.op(op).recompute)
      return false;
    ran[op] = true;
  }
  return llvm::all_of(ran, [](bool value) { return value; });
}

/// Returns the ops of a schedule of one by the task that they run in. What comes before the first
/// barrier belongs to the first task, and what comes after the last to the last.
std::vector<std::vector<OpIndex>>
MicroBatchProblem::splitByTasks(llvm::ArrayRef<OpIndex> steps) const {
  std::vector<std::vector<OpIndex>> ofTask(microBatches.numTasks());
  int32_t task = -1;
  for (OpIndex step : steps)
    if (opOf[step] < 0)
      ++task;
    else
      ofTask[std::clamp(task, 0, microBatches.numTasks() - 1)].push_back(opOf[step]);
  return ofTask;
}

std::vector<OpIndex>
MicroBatchProblem::forAll(llvm::ArrayRef<llvm::ArrayRef<OpIndex>> schedules) const {
  std::vector<std::vector<std::vector<OpIndex>>> byTask;
  for (llvm::ArrayRef<OpIndex> schedule : schedules)
    byTask.push_back(splitByTasks(schedule));
  std::vector<OpIndex> all;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    const int32_t number = microBatches.numberOf[op];
    if (number < 0) {
      if (!shared[op])
        all.push_back(op);
      continue;
    }
    auto begin = llvm::lower_bound(microBatches.tasks, microBatches.placeOf[op]);
    if (*begin != microBatches.placeOf[op])
      continue; // its task has begun already
    const auto &tasks = byTask[number % byTask.size()];
    for (OpIndex of : tasks[begin - microBatches.tasks.begin()])
      all.push_back(shared[of] ? of : microBatches.ops[number][microBatches.placeOf[of]]);
  }
  if (!isSchedule(all))
    all.clear();
  return all;
}

std::vector<OpIndex> MicroBatchProblem::forAllHolding(llvm::ArrayRef<OpIndex> steps) const {
  std::vector<int32_t> runs(graph.numOps(), 0); // runs of the shared ops in the schedule of one
  for (OpIndex step : steps)
    if (opOf[step] >= 0 && shared[opOf[step]])
      ++runs[opOf[step]];
  std::vector<bool> ran(graph.numOps(), false);
  std::vector<OpIndex> all = forAll({steps});
  llvm::erase_if(all, [&](OpIndex op) {
    const bool isRepeat = ran[op];
    ran[op] = true;
    return isRepeat && runs[op] == 1;
  });
  return all;
}

std::vector<OpIndex> MicroBatchProblem::inOne(llvm::ArrayRef<OpIndex> ops) const {
  std::vector<bool> isAsked(graph.numOps(), false);
  for (OpIndex op : ops)
    if (op >= 0 && op < graph.numOps())
      isAsked[op] = true;
  std::vector<OpIndex> found;
  for (size_t op = 0; op < opOf.size(); ++op)
    if (opOf[op] >= 0 && isAsked[opOf[op]])
      found.push_back(static_cast<OpIndex>(op));
  return found;
}
