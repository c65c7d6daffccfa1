//===- MemoryReport.cpp - The facts of a planned step ----------------------===//

#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/StateCopies.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include <array>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static int64_t getInteger(func::FuncOp step, StringRef name, int64_t otherwise) {
  auto attr = step->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

static void addResident(func::FuncOp step, MemoryReport &report) {
  const StepResidents residents(step);
  ResidentEntry &resident = report.resident;
  resident.byRole.insert(residents.byRole.begin(), residents.byRole.end());
  resident.bytes = residents.device.own;
  resident.padding = residents.device.padding();
  resident.serverBytes = residents.server.allocated;
  report.host.residentBytes = residents.host.own;
  report.host.residentPadding = residents.host.padding();
  for (BlockArgument argument : step.getArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor || getRole(argument) != llm::Role::Param || llm::isOnHost(tensor) ||
        llm::hasHeldParameter(argument))
      continue;
    resident.parameters += tensor.getNumElements();
    if (!step.getArgAttr(argument.getArgNumber(), LlmDialect::kFrozen))
      resident.trainedParameters += tensor.getNumElements();
  }
}

/// Counts a step's targets, of which each is a token; where it reads images it has none.
static int64_t countTokens(func::FuncOp step) {
  if (llvm::any_of(step.getArguments(), [](BlockArgument a) { return getName(a) == "pixels"; }))
    return 0;
  for (BlockArgument argument : step.getArguments())
    if (getRole(argument) == llm::Role::Input &&
        (getName(argument) == "targets" || getName(argument) == "labels"))
      if (auto tensor = dyn_cast<RankedTensorType>(argument.getType()))
        return tensor.getNumElements();
  return 0;
}

/// A clone or a copy brings a saved value back: it counts as saved too.
static StringRef kindOf(Value value, const llvm::DenseSet<Value> &savedValues,
                        const llvm::DenseMap<Operation *, Operation *> &originals) {
  auto result = dyn_cast<OpResult>(llm::copiedFrom(value));
  if (!result) // an argument that lies on the host
    return "temporary";
  Operation *original = originals.lookup(result.getOwner());
  if (savedValues.contains(original ? original->getResult(result.getResultNumber()) : value))
    return "saved";
  planning::Phase phase = getPhase(result.getOwner());
  return phase == planning::Phase::Backward ? "gradient" : "temporary";
}

static void addPeak(func::FuncOp step, const StepLiveness &liveness, const SavedEntry &saved,
                    PeakEntry &peak) {
  peak.bytes = liveness.peak;
  peak.position = liveness.peakPosition;
  if (liveness.peakPosition < 0)
    return;
  peak.op = liveness.ops[liveness.peakPosition];
  llvm::DenseSet<Value> savedValues;
  for (const SavedValue &it : saved.values)
    savedValues.insert(it.value);
  llvm::DenseMap<Operation *, Operation *> originals = findOriginals(step);
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.first > liveness.peakPosition || buffer.last < liveness.peakPosition)
      continue;
    Value value = liveness.holder(buffer, liveness.peakPosition);
    peak.live.push_back({value, getName(value), bytesOfType(value.getType()),
                         kindOf(value, savedValues, originals), getBlock(value.getDefiningOp())});
  }
  if (int64_t bytes = liveness.workspace[liveness.peakPosition])
    peak.live.push_back({nullptr, "workspace", bytes, "workspace", getBlock(peak.op)});
  llvm::stable_sort(peak.live,
                    [](const LiveEntry &a, const LiveEntry &b) { return a.bytes > b.bytes; });
}

/// Counts the kept ones of `saved.values`.
static void countSaved(SavedEntry &saved) {
  for (const SavedValue &it : saved.values) {
    const bool isInBlock = it.block && *it.block >= 0;
    if (isInBlock && *it.block >= static_cast<int64_t>(saved.byBlock.size()))
      saved.byBlock.resize(*it.block + 1, 0);
    if (it.recomputed || it.offloaded)
      continue;
    saved.bytes += it.bytes;
    if (isInBlock)
      saved.byBlock[*it.block] += it.bytes;
  }
}

static void addPacked(const StepLiveness &liveness, PackedValues &packed) {
  for (Operation *op : liveness.ops) {
    auto pack = dyn_cast<llm::PackOp>(op);
    bool isSaved = pack && !pack->hasAttr(LlmDialect::kInstance) &&
                   llvm::any_of(pack.getPacked().getUsers(), llvm::IsaPred<llm::UnpackOp>);
    if (!isSaved)
      continue;
    ++packed.values;
    packed.bytes += bytesOfType(pack.getX().getType());
    packed.bytesWithScales +=
        bytesOfType(pack.getPacked().getType()) + bytesOfType(pack.getScales().getType());
  }
}

static void addChunks(const StepLiveness &liveness, std::vector<ChunkEntry> &chunks) {
  for (Operation *op : liveness.ops)
    if (auto chunked = dyn_cast<ChunkedOpInterface>(op))
      chunks.push_back({getName(op->getResult(0)), chunked.getChunkRows(), chunked.getNumRows()});
}

static void addEpilogues(func::FuncOp step, VariantEntry &variant) {
  auto entries = step->getAttrOfType<ArrayAttr>(LlmDialect::kEpilogues);
  if (!entries)
    return;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    EpilogueEntry result;
    if (auto choice = entry.getAs<StringAttr>("choice"))
      result.choice = choice.str();
    result.taken = entry.contains("taken");
    if (auto peak = entry.getAs<IntegerAttr>("peak"))
      result.peak = peak.getInt();
    for (StringRef key : {"cost_ns", "cost_lower_bound_ns", "time_ns"})
      if (auto ns = entry.getAs<IntegerAttr>(key))
        result.ns = ns.getInt();
    if (auto why = entry.getAs<StringAttr>("why"))
      result.why = why.str();
    variant.epilogues.push_back(std::move(result));
  }
  variant.epiloguesDecideBits =
      step.walk([](Operation *op) {
            return isForLibrary(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
}

static void addTransfer(Operation *op, const OpCost &cost, RanksEntry &ranks) {
  auto interface = dyn_cast<CostOpInterface>(op);
  std::optional<TransferCost> transfer = interface ? interface.getTransfer() : std::nullopt;
  if (!transfer || transfer->messages == 0)
    return;
  ranks.collectives += transfer->times;
  ranks.repeated += op->hasAttr(LlmDialect::kCloneOf) ? transfer->times : 0;
  ranks.sentBytes += transfer->bytes;
  ranks.ns += cost.sendingNs;
}

static void addMesh(func::FuncOp step, RanksEntry &entry) {
  auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  if (!mesh)
    return;
  entry.count = mesh.getNumRanks();
  llvm::raw_string_ostream(entry.mesh) << mesh;
  for (BlockArgument argument : step.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto sharding = step.getArgAttrOfType<llm::ShardingAttr>(number, LlmDialect::kSharding);
    auto parts = step.getArgAttrOfType<ArrayAttr>(number, LlmDialect::kShard);
    auto whole = step.getArgAttrOfType<TypeAttr>(number, LlmDialect::kWhole);
    if (!sharding || !whole)
      continue;
    int64_t ranks = parts ? mesh.getGroupSize(parts) : 1;
    for (unsigned dimension = 0; dimension < sharding.getRank(); ++dimension)
      ranks *= mesh.getGroupSize(sharding.getAxes(dimension));
    // This is a part of a whole of fewer than 2^63 bytes, and its padding.
    Count parted = Count(ranks) * bytesOfType(argument.getType());
    if (!parted.isTooMany())
      entry.paddingBytes += int64_t(parted) - bytesOfType(whole.getValue());
  }
}

/// Finds when the step ends, as its ops stand. Started collectives run one after another at the
/// same time as the other ops, each from its start on, and so do copies in each direction and
/// updates on the host; a wait ends with what it waits for. An op that sends without being started
/// first waits for those that are.
static void addOverlap(func::FuncOp step, const llvm::DenseMap<Operation *, int64_t> &ns,
                       OverlapEntry &overlap) {
  int64_t now = 0, sum = 0;
  std::array<int64_t, llm::kStartQueues> freeAt = {}; // of each queue
  llvm::DenseMap<Operation *, int64_t> doneAt;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (auto wait = dyn_cast<llm::WaitOp>(op)) {
      now = std::max(now, doneAt.lookup(wait.getStart()));
      continue;
    }
    int64_t cost = ns.lookup(&op);
    sum += cost;
    if (llm::isStarted(&op)) {
      ++overlap.started;
      overlap.startedNs += cost;
      int64_t &queue = freeAt[static_cast<size_t>(llm::queueOf(&op))];
      doneAt[&op] = queue = std::max(queue, now) + cost;
      continue;
    }
    now = (llm::isSending(&op) ? std::max(now, freeAt[0]) : now) + cost;
  }
  overlap.stepNs = now;
  overlap.hiddenNs = sum - now;
}

/// Adds what copies move. `ns` has the time of each op.
static void addHost(func::FuncOp step, const llvm::DenseMap<Operation *, int64_t> &ns,
                    HostEntry &host) {
  if (auto budget = step->getAttrOfType<IntegerAttr>(LlmDialect::kHostBudget))
    host.budget = budget.getInt();
  host.arena = getInteger(step, LlmDialect::kHostArena, 0);
  llvm::MapVector<Value, LeavingEntry> leaving;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (llm::runsOnHost(&op)) {
      ++host.updates;
      host.updateNs += ns.lookup(&op);
    }
    if (!llm::isHostCopy(&op))
      continue;
    host.leavesWithin |= !isOnHostInEveryPlan(&op);
    bool isUp = isa<llm::CopyToHostOp>(op);
    Value state = stateOf(&op);
    Value source = state ? state : llm::copiedFrom(op.getResult(0));
    int64_t bytes = bytesOfType(source.getType());
    (isUp ? host.upBytes : host.downBytes) += bytes;
    host.copyNs += ns.lookup(&op);
    LeavingEntry &entry = leaving[source];
    entry.name = getName(source);
    entry.block = getBlock(&op);
    entry.bytes = bytes;
    ++(isUp ? entry.ups : entry.downs);
  }
  for (auto &[value, entry] : leaving)
    host.leaving.push_back(std::move(entry));
}

/// Counts what `op` was priced by.
static void addPrice(Operation *op, const OpCost &cost, PriceEntry &prices) {
  if (cost.ns > 0)
    ++(cost.measured ? prices.measured : prices.modelled);
  auto source = op->getAttrOfType<StringAttr>(LlmDialect::kCostFrom);
  if (!source || source.getValue() != llm::stringifyCostSource(llm::CostSource::Traffic))
    return;
  auto &[count, ns] = prices.byBytes[op->getName().getStringRef().str()];
  ++count;
  ns += cost.ns;
}

/// Adds the work of `op`. Copies are none of the step's (`addHost`), and what runs on the host
/// takes no time of the device.
static void addWork(Operation *op, const OpCost &cost, TimeEntry &time) {
  if (llm::isHostCopy(op))
    return;
  const bool onHost = llm::runsOnHost(op);
  const bool isClone = !onHost && op->hasAttr(LlmDialect::kCloneOf);
  Work &work = isClone ? time.recomputed : time.once;
  work.flops += cost.flops;
  work.ns += onHost ? 0 : cost.ns;
  time.recomputedOps += isClone;
}

static LogicalResult addCosts(func::FuncOp step, const StepLiveness &liveness,
                              const DeviceModel &device, MemoryReport &report) {
  llvm::DenseMap<Operation *, int64_t> ns;
  Count nsOfAll; // No sum below is larger.
  for (Operation *op : liveness.ops) {
    FailureOr<OpCost> cost = getCost(op, device);
    if (failed(cost))
      return failure();
    nsOfAll += cost->ns;
    if (nsOfAll.isTooMany())
      return op->emitError("takes, with the ops before it, 2^63 ns or more; make the batch, the "
                           "sequence or the model smaller");
    ns[op] = cost->ns;
    addPrice(op, *cost, report.prices);
    addTransfer(op, *cost, report.ranks);
    addWork(op, *cost, report.time);
  }
  addOverlap(step, ns, report.time.overlap);
  addHost(step, ns, report.host);
  return success();
}

/// Fails where arenas cannot be counted, since their attributes may come from outside of llmmem.
static LogicalResult checkNeeded(func::FuncOp step, const MemoryReport &report) {
  auto check = [&](int64_t resident, int64_t padding, int64_t arena,
                   StringRef whose) -> LogicalResult {
    Count needed = Count(resident) + padding + arena;
    if (!needed.isTooMany())
      return success();
    return step.emitError() << "claims an arena" << whose << " of " << arena
                            << " bytes in addition to " << resident
                            << " resident ones; expected fewer than 2^63 together, "
                            << "and no negative number: plan the model again";
  };
  return success(
      succeeded(check(report.resident.bytes, report.resident.padding, report.arena.bytes, "")) &&
      succeeded(check(report.host.residentBytes, report.host.residentPadding, report.host.arena,
                      " on the host")));
}

static void readCertificate(func::FuncOp step, MemoryReport &report) {
  auto certificate = step->getAttrOfType<DictionaryAttr>(LlmDialect::kCertificate);
  if (!certificate)
    return;
  auto read = [&](StringRef key, auto &value) {
    if (auto number = certificate.getAs<IntegerAttr>(key))
      value = number.getInt();
  };
  read("cost_lower_bound_ns", report.certificate.costLowerBoundNs);
  read("time_lower_bound_ns", report.time.overlap.timeLowerBoundNs);
  read("peak_lower_bound", report.certificate.peakLowerBound);
  read("cost_without_budget_ns", report.time.withoutBudgetNs);
  if (auto bound = certificate.getAs<StringAttr>("bound"))
    report.certificate.bound = bound.str();
}

FailureOr<MemoryReport> MemoryReport::compute(func::FuncOp step, const StepStorage &storage,
                                              const StepLiveness &liveness,
                                              const DeviceModel &device) {
  MemoryReport report;
  if (!step->hasAttr(LlmDialect::kArena))
    return step.emitError(
        "is not planned; run plan-checkpoints and apply-checkpoints first, or plan-arena");
  if (auto policy = step->getAttrOfType<StringAttr>(LlmDialect::kPolicy))
    report.plan.policy = policy.str();
  if (auto budget = step->getAttrOfType<IntegerAttr>(LlmDialect::kBudget))
    report.plan.budget = budget.getInt();
  addResident(step, report);
  report.saved.values = findSavedValues(step, storage);
  countSaved(report.saved);
  addPeak(step, liveness, report.saved, report.peak);
  addPacked(liveness, report.saved.packed);
  addChunks(liveness, report.variant.chunks);
  addEpilogues(step, report.variant);
  addMesh(step, report.ranks);
  if (failed(addCosts(step, liveness, device, report)))
    return failure();
  report.prices.device = device.name;
  report.prices.source = device.source;
  report.prices.ratesAreMeasured = device.isMeasured();
  report.time.tokens = countTokens(step);
  report.arena.bytes = getInteger(step, LlmDialect::kArena, 0);
  if (failed(checkNeeded(step, report)))
    return failure();
  int64_t liveInArena = report.peak.bytes - report.resident.bytes;
  report.arena.fragmentation =
      liveInArena > 0 ? static_cast<double>(report.arena.bytes) / liveInArena - 1.0 : 0.0;
  readCertificate(step, report);
  // Where everything is kept, this is the step without a budget. With overlap the time of its plan
  // is close, and this one is exact.
  if (report.time.withoutBudgetNs && report.plan.policy == "none" && !report.host.leavesWithin)
    report.time.withoutBudgetNs = report.time.plannedNs();
  return report;
}

double MemoryReport::gapPercent() const {
  const int64_t once = time.once.ns;
  if (once == 0)
    return 0.0;
  if (host.arena > 0 && time.overlap.timeLowerBoundNs)
    return 100.0 * static_cast<double>(time.plannedNs() - *time.overlap.timeLowerBoundNs) / once;
  return 100.0 * static_cast<double>(once + time.recomputed.ns - certificate.costLowerBoundNs) /
         once;
}

static double slowdown(int64_t ns, int64_t withoutBudgetNs) {
  return 100.0 * (static_cast<double>(ns) / static_cast<double>(withoutBudgetNs) - 1.0);
}

std::optional<double> MemoryReport::slowdownPercent() const {
  if (time.withoutBudgetNs.value_or(0) == 0 || !several.functions.empty())
    return std::nullopt;
  return slowdown(time.plannedNs(), *time.withoutBudgetNs);
}

double MemoryReport::WholeStep::slowdownPercent() const {
  return withoutBudgetNs == 0 ? 0 : slowdown(ns, withoutBudgetNs);
}

std::optional<MemoryReport::WholeStep> MemoryReport::wholeStep() const {
  if (several.functions.empty() || !several.pipeline.schedule.empty())
    return std::nullopt;
  WholeStep whole;
  for (const FunctionEntry &entry : several.functions) {
    if (!entry.withoutBudgetNs)
      return std::nullopt;
    whole.ns += entry.runs * entry.ns;
    whole.withoutBudgetNs += entry.runs * *entry.withoutBudgetNs;
  }
  return whole;
}

std::optional<double> MemoryReport::tokensPerSecond() const {
  if (time.tokens == 0 || time.plannedNs() == 0 || ranks.count > 1 || !several.functions.empty())
    return std::nullopt;
  return 1e9 * static_cast<double>(time.tokens) / static_cast<double>(time.plannedNs());
}

void MemoryReport::emitRemarks(func::FuncOp step) const {
  auto remark = [&](Location location, StringRef name) {
    return remark::analysis(location, remark::RemarkOpts::name(name).category("llmmem-memory"));
  };
  remark(peak.op ? peak.op->getLoc() : step.getLoc(), "peak")
      << remark::metric("Bytes", peak.bytes) << remark::metric("Position", peak.position);
  remark(step.getLoc(), "arena") << remark::metric("Bytes", arena.bytes);
  for (auto &[role, bytes] : resident.byRole)
    if (bytes > 0)
      remark(step.getLoc(), "resident")
          << remark::metric("Role", role) << remark::metric("Bytes", bytes);
  remark(step.getLoc(), "saved") << remark::metric("Bytes", saved.bytes);
  for (auto [block, bytes] : llvm::enumerate(saved.byBlock))
    remark(step.getLoc(), "saved-block")
        << remark::metric("Block", static_cast<int64_t>(block)) << remark::metric("Bytes", bytes);
  remark(step.getLoc(), "recompute")
      << remark::metric("Ops", time.recomputedOps)
      << remark::metric("Flops", llvm::formatv("{0:f0}", time.recomputed.flops).str());
}

FunctionEntry MemoryReport::entryOf(func::FuncOp function) const {
  auto runs = function->getAttrOfType<IntegerAttr>(llm::LlmDialect::kMicroBatches);
  // Where one function has all micro-batches, it runs once.
  bool runsOften = runs && llvm::any_of(function.getArguments(), [](BlockArgument argument) {
                     return getName(argument) == "micro_batch";
                   });
  return {.name = function.getName().str(),
          .runs = runsOften ? runs.getInt() : 1,
          .needed = neededBytes(),
          .peak = peak.bytes,
          .arena = arena.bytes,
          .ns = time.plannedNs(),
          .recomputeNs = time.recomputed.ns,
          .lowerBoundNs = certificate.costLowerBoundNs,
          .sentBytes = ranks.sentBytes,
          .budget = plan.budget,
          .device = prices.device,
          .withoutBudgetNs = time.withoutBudgetNs};
}
