//===- MemoryReport.cpp - The facts of a planned step ----------------------===//

#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/ProblemExtraction.h"
#include "llmmem/Analysis/StateCopies.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
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
  for (llm::Role role : {llm::Role::Param, llm::Role::Gradient, llm::Role::OptimizerState,
                         llm::Role::Input, llm::Role::Seed})
    report.resident[llm::stringifyRole(role).str()] = 0;
  for (BlockArgument argument : step.getArguments()) {
    llm::Role role = getRole(argument);
    int64_t bytes = bytesOfType(argument.getType());
    if (llm::isOnHost(argument.getType())) {
      report.host.residentBytes += bytes;
      report.host.residentPadding += llvm::alignTo(bytes, kArenaAlignment) - bytes;
      continue;
    }
    report.resident[llm::stringifyRole(role).str()] += bytes;
    report.residentBytes += bytes;
    if (step.getArgAttr(argument.getArgNumber(), LlmDialect::kServer))
      report.serverBytes += llvm::alignTo(bytes, kArenaAlignment);
    report.residentPadding += llvm::alignTo(bytes, kArenaAlignment) - bytes;
    if (role == llm::Role::Param && !llm::isBesideHeld(argument))
      if (auto tensor = dyn_cast<RankedTensorType>(argument.getType())) {
        report.parameters += tensor.getNumElements();
        if (!step.getArgAttr(argument.getArgNumber(), LlmDialect::kFrozen))
          report.trainedParameters += tensor.getNumElements();
      }
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

/// Constants are held throughout, as arguments are.
static void addConstants(func::FuncOp step, MemoryReport &report) {
  for (Operation &op : step.getBody().front()) {
    if (!isResidentOp(&op))
      continue;
    for (Value result : op.getResults()) {
      int64_t bytes = residentBytes(result);
      report.resident["constant"] += bytes;
      report.residentBytes += bytes;
      report.residentPadding += llvm::alignTo(bytes, kArenaAlignment) - bytes;
    }
  }
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

static void addPeak(func::FuncOp step, const StepLiveness &liveness, MemoryReport &report) {
  report.peak = liveness.peak;
  report.peakPosition = liveness.peakPosition;
  if (liveness.peakPosition < 0)
    return;
  report.peakOp = liveness.ops[liveness.peakPosition];
  llvm::DenseSet<Value> savedValues;
  for (const SavedValue &saved : report.saved)
    savedValues.insert(saved.value);
  llvm::DenseMap<Operation *, Operation *> originals = findOriginals(step);
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.first > liveness.peakPosition || buffer.last < liveness.peakPosition)
      continue;
    Value value = liveness.holder(buffer, liveness.peakPosition);
    report.live.push_back({value, getName(value), bytesOfType(value.getType()),
                           kindOf(value, savedValues, originals), getBlock(value.getDefiningOp())});
  }
  if (int64_t bytes = liveness.workspace[liveness.peakPosition])
    report.live.push_back({nullptr, "workspace", bytes, "workspace", getBlock(report.peakOp)});
  llvm::stable_sort(report.live,
                    [](const LiveEntry &a, const LiveEntry &b) { return a.bytes > b.bytes; });
}

static void addSaved(MemoryReport &report) {
  for (const SavedValue &saved : report.saved) {
    if (saved.block && *saved.block >= 0 &&
        *saved.block >= static_cast<int64_t>(report.savedByBlock.size()))
      report.savedByBlock.resize(*saved.block + 1, 0);
    if (saved.recomputed || saved.offloaded)
      continue;
    report.savedBytes += saved.bytes;
    if (saved.block && *saved.block >= 0)
      report.savedByBlock[*saved.block] += saved.bytes;
  }
}

static void addPacked(const StepLiveness &liveness, MemoryReport &report) {
  for (Operation *op : liveness.ops) {
    auto pack = dyn_cast<llm::PackOp>(op);
    bool isSaved = pack && !pack->hasAttr(LlmDialect::kInstance) &&
                   llvm::any_of(pack.getPacked().getUsers(), llvm::IsaPred<llm::UnpackOp>);
    if (!isSaved)
      continue;
    ++report.packed.values;
    report.packed.bytes += bytesOfType(pack.getX().getType());
    report.packed.bytesWithScales +=
        bytesOfType(pack.getPacked().getType()) + bytesOfType(pack.getScales().getType());
  }
}

static void addChunks(const StepLiveness &liveness, MemoryReport &report) {
  for (Operation *op : liveness.ops)
    if (auto chunked = dyn_cast<ChunkedOpInterface>(op))
      report.chunks.push_back(
          {getName(op->getResult(0)), chunked.getChunkRows(), chunked.getNumRows()});
}

static void addEpilogues(func::FuncOp step, MemoryReport &report) {
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
    report.epilogues.push_back(std::move(result));
  }
  report.epiloguesDecideBits =
      step.walk([](Operation *op) {
            return isForLibrary(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
}

static void addTransfer(Operation *op, const OpCost &cost, MemoryReport &report) {
  auto interface = dyn_cast<CostOpInterface>(op);
  std::optional<TransferCost> transfer = interface ? interface.getTransfer() : std::nullopt;
  if (!transfer || transfer->messages == 0)
    return;
  report.sent.collectives += transfer->times;
  report.sent.repeated += op->hasAttr(LlmDialect::kCloneOf) ? transfer->times : 0;
  report.sent.bytes += transfer->bytes;
  report.sent.ns += cost.sendingNs;
}

static void addMesh(func::FuncOp step, MemoryReport &report) {
  auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  if (!mesh)
    return;
  report.ranks = mesh.getNumRanks();
  llvm::raw_string_ostream(report.mesh) << mesh;
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
      report.paddingBytes += int64_t(parted) - bytesOfType(whole.getValue());
  }
}

/// Finds when the step ends, as its ops stand. Started collectives run one after another at the
/// same time as the other ops, each from its start on, and so do copies in each direction and
/// updates on the host; a wait ends with what it waits for. An op that sends without being started
/// first waits for those that are.
static void addOverlap(func::FuncOp step, const llvm::DenseMap<Operation *, int64_t> &ns,
                       MemoryReport &report) {
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
      ++report.overlap.started;
      report.overlap.startedNs += cost;
      int64_t &queue = freeAt[static_cast<size_t>(llm::queueOf(&op))];
      doneAt[&op] = queue = std::max(queue, now) + cost;
      continue;
    }
    now = (llm::isSending(&op) ? std::max(now, freeAt[0]) : now) + cost;
  }
  report.overlap.stepNs = now;
  report.overlap.hiddenNs = sum - now;
}

/// Adds what copies move. `ns` has the time of each op.
static void addHost(func::FuncOp step, const llvm::DenseMap<Operation *, int64_t> &ns,
                    MemoryReport &report) {
  HostEntry &host = report.host;
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
    bool isUp = isa<llm::CopyUpOp>(op);
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

static LogicalResult addCosts(func::FuncOp step, const StepLiveness &liveness,
                              const DeviceModel &device, MemoryReport &report) {
  llvm::DenseMap<Operation *, int64_t> ns;
  Count flopsOfAll, nsOfAll; // no sum below is larger
  for (Operation *op : liveness.ops) {
    FailureOr<OpCost> cost = getCost(op, device);
    if (failed(cost))
      return failure();
    flopsOfAll += cost->flops;
    nsOfAll += cost->ns;
    if (flopsOfAll.isTooMany() || nsOfAll.isTooMany())
      return op->emitError("costs, with the ops before it, 2^63 FLOPs or ns or more; make the "
                           "batch, the sequence or the model smaller");
    if (cost->ns > 0)
      ++(cost->measured ? report.measuredOps : report.modelledOps);
    ns[op] = cost->ns;
    if (auto source = op->getAttrOfType<StringAttr>(LlmDialect::kCostFrom);
        source && source.getValue() == llm::stringifyCostSource(llm::CostSource::Traffic)) {
      auto &[count, time] = report.pricedByBytes[op->getName().getStringRef().str()];
      ++count;
      time += cost->ns;
    }
    addTransfer(op, *cost, report);
    if (llm::isHostCopy(op))
      continue;                // no work of the step: addHost
    if (llm::runsOnHost(op)) { // work, and no time of the device
      report.stepFlops += cost->flops;
      continue;
    }
    if (!op->hasAttr(LlmDialect::kCloneOf)) {
      report.stepFlops += cost->flops;
      report.stepNs += cost->ns;
      continue;
    }
    ++report.recomputeOps;
    report.recomputeFlops += cost->flops;
    report.recomputeNs += cost->ns;
  }
  addOverlap(step, ns, report);
  addHost(step, ns, report);
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
  return success(succeeded(check(report.residentBytes, report.residentPadding, report.arena, "")) &&
                 succeeded(check(report.host.residentBytes, report.host.residentPadding,
                                 report.host.arena, " on the host")));
}

FailureOr<MemoryReport> MemoryReport::compute(func::FuncOp step, const StepStorage &storage,
                                              const StepLiveness &liveness,
                                              const DeviceModel &device) {
  MemoryReport report;
  if (!step->hasAttr(LlmDialect::kArena))
    return step.emitError(
        "is not planned; run plan-checkpoints and apply-checkpoints first, or plan-arena");
  if (auto policy = step->getAttrOfType<StringAttr>(LlmDialect::kPolicy))
    report.policy = policy.str();
  if (auto budget = step->getAttrOfType<IntegerAttr>(LlmDialect::kBudget))
    report.budget = budget.getInt();
  addResident(step, report);
  addConstants(step, report);
  report.saved = findSavedValues(step, storage);
  addSaved(report);
  addPeak(step, liveness, report);
  addPacked(liveness, report);
  addChunks(liveness, report);
  addEpilogues(step, report);
  addMesh(step, report);
  if (failed(addCosts(step, liveness, device, report)))
    return failure();
  report.device = device.name;
  report.deviceSource = device.source;
  report.ratesAreMeasured = device.isMeasured();
  report.tokens = countTokens(step);
  report.arena = getInteger(step, LlmDialect::kArena, 0);
  if (failed(checkNeeded(step, report)))
    return failure();
  int64_t liveInArena = report.peak - report.residentBytes;
  report.fragmentation =
      liveInArena > 0 ? static_cast<double>(report.arena) / liveInArena - 1.0 : 0.0;
  if (auto certificate = step->getAttrOfType<DictionaryAttr>(LlmDialect::kCertificate)) {
    if (auto bound = certificate.getAs<IntegerAttr>("cost_lower_bound_ns"))
      report.costLowerBoundNs = bound.getInt();
    if (auto bound = certificate.getAs<IntegerAttr>("time_lower_bound_ns"))
      report.overlap.timeLowerBoundNs = bound.getInt();
    if (auto bound = certificate.getAs<IntegerAttr>("peak_lower_bound"))
      report.peakLowerBound = bound.getInt();
    if (auto cost = certificate.getAs<IntegerAttr>("cost_without_budget_ns"))
      report.withoutBudgetNs = cost.getInt();
    if (auto bound = certificate.getAs<StringAttr>("bound"))
      report.bound = bound.str();
  }
  // Where everything is kept, this is the step without a budget. With overlap the time of its plan
  // is close, and this one is exact.
  if (report.withoutBudgetNs && report.policy == "none" && !report.host.leavesWithin)
    report.withoutBudgetNs = report.plannedNs();
  return report;
}

double MemoryReport::gapPercent() const {
  if (stepNs == 0)
    return 0.0;
  if (host.arena > 0 && overlap.timeLowerBoundNs)
    return 100.0 * static_cast<double>(plannedNs() - *overlap.timeLowerBoundNs) / stepNs;
  return 100.0 * static_cast<double>(stepNs + recomputeNs - costLowerBoundNs) / stepNs;
}

static double slowdown(int64_t ns, int64_t withoutBudgetNs) {
  return 100.0 * (static_cast<double>(ns) / static_cast<double>(withoutBudgetNs) - 1.0);
}

std::optional<double> MemoryReport::slowdownPercent() const {
  if (!withoutBudgetNs || *withoutBudgetNs == 0 || !functions.empty())
    return std::nullopt;
  return slowdown(plannedNs(), *withoutBudgetNs);
}

double MemoryReport::WholeStep::slowdownPercent() const {
  return withoutBudgetNs == 0 ? 0 : slowdown(ns, withoutBudgetNs);
}

std::optional<MemoryReport::WholeStep> MemoryReport::wholeStep() const {
  if (functions.empty() || !pipeline.schedule.empty())
    return std::nullopt;
  WholeStep whole;
  for (const FunctionEntry &entry : functions) {
    if (!entry.withoutBudgetNs)
      return std::nullopt;
    whole.ns += entry.runs * entry.ns;
    whole.withoutBudgetNs += entry.runs * *entry.withoutBudgetNs;
  }
  return whole;
}

std::optional<double> MemoryReport::tokensPerSecond() const {
  if (tokens == 0 || plannedNs() == 0 || ranks > 1 || !functions.empty())
    return std::nullopt;
  return 1e9 * static_cast<double>(tokens) / static_cast<double>(plannedNs());
}

void MemoryReport::emitRemarks(func::FuncOp step) const {
  auto remark = [&](Location location, StringRef name) {
    return remark::analysis(location, remark::RemarkOpts::name(name).category("llmmem-memory"));
  };
  Location peakLocation = peakOp ? peakOp->getLoc() : step.getLoc();
  remark(peakLocation, "peak") << remark::metric("Bytes", peak)
                               << remark::metric("Position", peakPosition);
  remark(step.getLoc(), "arena") << remark::metric("Bytes", arena);
  for (auto &[role, bytes] : resident)
    if (bytes > 0)
      remark(step.getLoc(), "resident")
          << remark::metric("Role", role) << remark::metric("Bytes", bytes);
  remark(step.getLoc(), "saved") << remark::metric("Bytes", savedBytes);
  for (auto [block, bytes] : llvm::enumerate(savedByBlock))
    remark(step.getLoc(), "saved-block")
        << remark::metric("Block", static_cast<int64_t>(block)) << remark::metric("Bytes", bytes);
  remark(step.getLoc(), "recompute")
      << remark::metric("Ops", recomputeOps) << remark::metric("Flops", recomputeFlops);
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
          .peak = peak,
          .arena = arena,
          .ns = plannedNs(),
          .recomputeNs = recomputeNs,
          .lowerBoundNs = costLowerBoundNs,
          .sentBytes = sent.bytes,
          .budget = budget,
          .device = device,
          .withoutBudgetNs = withoutBudgetNs};
}
