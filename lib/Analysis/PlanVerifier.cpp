//===- PlanVerifier.cpp - Is the final program what it claims? -------------===//
//
// The verifier makes one walk over the ops in order, with the set of held byte ranges of the arena
// in a map by offset. On purpose it uses no analysis that the plan was made with. It decides by
// itself what is a view, what may be written in place and how many bytes a type has (PlanRules.h,
// PlanBytes.h).
//
//===----------------------------------------------------------------------===//

#include "llmmem/Analysis/PlanVerifier.h"
#include "PlanBytes.h"
#include "PlanClaims.h"
#include "PlanClones.h"
#include "PlanFlights.h"
#include "PlanRules.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Support/Count.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
struct Range {
  int64_t begin, end;
  bool meets(const Range &other) const { return begin < other.end && other.begin < end; }
};

/// Is the arena of one memory.
struct Arena {
  int64_t claim = 0, end = 0;
  int64_t resident = 0;
  int64_t padding = 0; // that whole buffers add to what is resident
  int64_t held = 0;
  std::map<int64_t, Value> live; // by offset
};

class PlanVerifier {
public:
  explicit PlanVerifier(func::FuncOp step) : step(step), body(step.getBody().front()) {}
  LogicalResult run();

private:
  // These check what the attributes say.
  bool readOffsets(Operation &op);
  bool readWorkspace(Operation &op);
  void resolveStorage(Operation &op);
  BlockArgument statedHome(OpResult result);
  BlockArgument homeOfOperands(OpResult result);
  bool isGivenBackAs(BlockArgument home, OpResult result);
  void settle(OpResult result, BlockArgument home);
  void checkConstant(Operation &op);
  void findLastReads();

  // These make the walk.
  void visit(Operation &op, int64_t position);
  void checkMemory(Operation &op);
  void checkOperands(Operation &op);
  void place(OpResult result, int64_t position);
  bool mayTakeOver(OpResult result, Value held, int64_t position);
  void overwriteArguments(Operation &op);
  void release(int64_t position);
  void checkReturns();
  void checkClaims();
  void checkBudget(StringRef name, const Arena &arena, StringRef whose);

  InFlightDiagnostic fail(Operation *op, StringRef rule) {
    broken = true;
    return op->emitError() << "[" << rule << "] ";
  }
  Arena &arenaOf(Value value) { return llm::isOnHost(value.getType()) ? host : device; }
  int64_t claim(StringRef name) {
    auto attr = step->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : -1;
  }

  func::FuncOp step;
  Block &body;
  bool broken = false;
  Arena device, host;
  int64_t peak = 0; // of the device
  DerivedPlaces places;
  llvm::DenseMap<BlockArgument, Value> newest; // what an argument's bytes hold now
  llvm::DenseMap<Value, int64_t> lastRead;
  llvm::DenseMap<Value, Value> replacedBy; // a value whose bytes were taken over
  SmallVector<OpResult> placed;            // by the op at hand
  std::multimap<int64_t, Value> deaths;    // by last read
};
} // namespace

//===----------------------------------------------------------------------===//
// What the attributes say
//===----------------------------------------------------------------------===//

bool PlanVerifier::readOffsets(Operation &op) {
  auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kOffsets);
  if (!offsets || offsets.size() != static_cast<int64_t>(op.getNumResults())) {
    fail(&op, "offsets")
        << "needs '" << LlmDialect::kOffsets << "' with " << op.getNumResults()
        << " entries; run apply-checkpoints, or plan-arena for a step without a plan";
    return false;
  }
  for (auto [result, offset] : llvm::zip(op.getResults(), offsets.asArrayRef())) {
    places.offsetOf[result] = offset;
    // A view has the bytes of its source, which were checked there.
    if (offset == -1 || planViewedOperand(result))
      continue;
    if (offset < 0 || offset % kArenaAlignment != 0)
      fail(&op, "offsets") << "has offset " << offset << ", expected a multiple of "
                           << kArenaAlignment;
    else if (offset > arenaOf(result).claim - planBytesOf(result))
      fail(&op, "offsets") << "ends at byte " << static_cast<uint64_t>(offset) + planBytesOf(result)
                           << ", outside the arena of " << arenaOf(result).claim
                           << (llm::isOnHost(result.getType()) ? " on the host" : "");
  }
  return true;
}

bool PlanVerifier::readWorkspace(Operation &op) {
  int64_t needed = planWorkspaceOf(&op);
  auto workspace = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kWorkspace);
  if (needed == 0 && !workspace)
    return true;
  if (!workspace || workspace.size() != 2 || workspace[1] != needed || workspace[0] < 0 ||
      workspace[0] % kArenaAlignment != 0 || workspace[0] > device.claim - needed) {
    fail(&op, "workspace") << "needs '" << LlmDialect::kWorkspace << "' = [offset, " << needed
                           << "] inside the arena, on a multiple of " << kArenaAlignment;
    return false;
  }
  return true;
}

/// Returns the argument that `result` says it overwrites; null where it says nothing.
BlockArgument PlanVerifier::statedHome(OpResult result) {
  Operation *op = result.getOwner();
  auto stated = op->getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kInArgument);
  if (!stated || stated.size() != static_cast<int64_t>(op->getNumResults()))
    return BlockArgument();
  int64_t number = stated[result.getResultNumber()];
  if (number < 0 || number >= static_cast<int64_t>(step.getNumArguments()) ||
      step.getArgument(number).getType() != result.getType() ||
      !step.getArgAttr(number, LlmDialect::kDonated))
    return BlockArgument();
  return step.getArgument(number);
}

/// Checks that an op that reads an argument's bytes while it writes them can do so, by each
/// operand; and that no two results use the bytes of one argument.
void PlanVerifier::settle(OpResult result, BlockArgument home) {
  Operation *op = result.getOwner();
  for (OpOperand &operand : op->getOpOperands())
    if (places.homeOf.lookup(places.source[operand.get()]) == home &&
        !llvm::is_contained(planInPlaceOperands(result), operand.getOperandNumber()))
      fail(op, "clobber") << "overwrites argument " << home.getArgNumber()
                          << " while it reads it as operand " << operand.getOperandNumber();
  for (OpResult other : op->getResults())
    if (places.homeOf.lookup(other) == home && places.source[other] == other)
      fail(op, "clobber") << "results " << other.getResultNumber() << " and "
                          << result.getResultNumber() << " overwrite argument "
                          << home.getArgNumber();
  places.homeOf[result] = home;
}

/// A constant is held throughout, outside of the arena.
void PlanVerifier::checkConstant(Operation &op) {
  for (OpResult result : op.getResults()) {
    places.source[result] = result;
    if (places.offsetOf.lookup(result) != -1)
      fail(&op, "offsets") << "is a constant at offset " << places.offsetOf.lookup(result)
                           << ", expected -1: it lies outside of the arena";
  }
}

/// Returns whether what `home` is given back as is `result`, or may have taken its bytes over
/// since.
bool PlanVerifier::isGivenBackAs(BlockArgument home, OpResult result) {
  Operation *terminator = body.getTerminator();
  auto donated = step.getArgAttrOfType<IntegerAttr>(home.getArgNumber(), LlmDialect::kDonated);
  if (donated.getInt() < 0 ||
      donated.getInt() >= static_cast<int64_t>(terminator->getNumOperands()))
    return false;
  llvm::SetVector<Value> holders;
  holders.insert(planRootOf(terminator->getOperand(donated.getInt())));
  for (size_t i = 0; i < holders.size(); ++i) {
    auto holder = dyn_cast<OpResult>(holders[i]);
    if (!holder)
      continue;
    if (holder == result)
      return true;
    for (unsigned operand : planInPlaceOperands(holder))
      holders.insert(planRootOf(holder.getOwner()->getOperand(operand)));
  }
  return false;
}

/// Returns the argument whose bytes, all of them, `result` takes over from an operand that lies
/// there; of several the one that is given back as the result. Returns null, after a diagnostic,
/// where there is none, or where the plan leaves open which of several it is.
BlockArgument PlanVerifier::homeOfOperands(OpResult result) {
  Operation *op = result.getOwner();
  llvm::SetVector<BlockArgument> homes;
  for (unsigned operand : planInPlaceOperands(result))
    if (BlockArgument home = places.homeOf.lookup(places.source[op->getOperand(operand)]);
        home && planBytesOf(home) == planBytesOf(result) &&
        step.getArgAttrOfType<IntegerAttr>(home.getArgNumber(), LlmDialect::kDonated))
      homes.insert(home);
  if (homes.size() > 1)
    homes.remove_if([&](BlockArgument home) { return !isGivenBackAs(home, result); });
  if (homes.size() == 1)
    return homes.front();
  InFlightDiagnostic error = fail(op, "argument") << "result " << result.getResultNumber();
  if (homes.empty())
    error << " has offset -1, but takes over no donated argument's bytes";
  else
    error << " may have the bytes of argument " << homes[0].getArgNumber() << " or of argument "
          << homes[1].getArgNumber() << ", and the plan does not say of which; state it with '"
          << LlmDialect::kInArgument << "', an argument's number or -1 for each result of the op";
  return BlockArgument();
}

/// Decides where the results of `op` lie: with what they view, in an argument, or at their own
/// offset.
void PlanVerifier::resolveStorage(Operation &op) {
  for (OpResult result : op.getResults()) {
    places.source[result] = result;
    if (std::optional<unsigned> viewed = planViewedOperand(result)) {
      Value of = places.source[op.getOperand(*viewed)];
      places.source[result] = of;
      int64_t expected = places.homeOf.contains(of) ? -1 : places.offsetOf.lookup(of);
      if (places.offsetOf.lookup(result) != expected)
        fail(&op, "view") << "is a view at offset " << places.offsetOf.lookup(result)
                          << ", but its source stands at " << expected;
      if (places.homeOf.contains(of))
        places.homeOf[result] = places.homeOf[of];
      continue;
    }
    if (places.offsetOf.lookup(result) != -1)
      continue;
    if (BlockArgument home = statedHome(result)) {
      settle(result, home);
      continue;
    }
    if (BlockArgument home = homeOfOperands(result))
      settle(result, home);
  }
}

void PlanVerifier::findLastReads() {
  int64_t position = 0;
  for (Operation &op : body) {
    // A wait reads nothing: an op that reads its result does. But a copy reads until then.
    if (auto wait = dyn_cast<llm::WaitOp>(op)) {
      if (Operation *start = wait.getStart(); start && llm::isHostCopy(start))
        lastRead[places.source[start->getOperand(0)]] = position;
    } else {
      for (Value operand : op.getOperands())
        lastRead[places.source[operand]] = position;
    }
    ++position;
  }
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Checks what touches the host's memory: copies, their waits, ops that run there (of which their
/// verifier knows that they touch nothing else) and the function's end.
void PlanVerifier::checkMemory(Operation &op) {
  if (llm::isHostCopy(&op) || llm::runsOnHost(&op) || isa<llm::WaitOp>(op))
    return;
  for (Type type : llvm::concat<const Type>(op.getOperandTypes(), op.getResultTypes()))
    if (llm::isOnHost(type)) {
      fail(&op, "host") << "touches " << type
                        << " in the host's memory; expected an 'llm.copy_down' to the device";
      return;
    }
}

void PlanVerifier::checkOperands(Operation &op) {
  // After a start whose bytes another one of its queue took over, its wait reads none of them.
  if (isa<llm::WaitOp>(op))
    return;
  for (Value operand : op.getOperands()) {
    Value storage = places.source[operand];
    if (BlockArgument home = places.homeOf.lookup(storage); home && newest.lookup(home) != storage)
      fail(&op, "clobber") << "reads argument " << home.getArgNumber()
                           << " after its bytes were overwritten";
  }
}

/// Returns whether `result` may use the bytes of `value`: at the same offset, no smaller,
/// never read again, and where its op reads them it may take each operand over: all that look at
/// them.
bool PlanVerifier::mayTakeOver(OpResult result, Value value, int64_t position) {
  if (places.offsetOf.lookup(result) != places.offsetOf.lookup(value) ||
      lastRead.lookup(value) != position || planBytesOf(result) > planBytesOf(value) ||
      replacedBy.contains(value))
    return false;
  SmallVector<unsigned> allowed = planInPlaceOperands(result);
  bool isRead = false;
  for (OpOperand &operand : result.getOwner()->getOpOperands()) {
    if (places.source[operand.get()] != value)
      continue;
    isRead = true;
    if (!llvm::is_contained(allowed, operand.getOperandNumber()))
      return false;
  }
  return isRead;
}

void PlanVerifier::place(OpResult result, int64_t position) {
  int64_t begin = places.offsetOf.lookup(result);
  Range range{begin, begin + planBytesOf(result)};
  Arena &arena = arenaOf(result);
  std::map<int64_t, Value> &live = arena.live;
  arena.end = std::max(arena.end, range.end);
  bool inPlace = false;
  auto it = live.upper_bound(begin);
  if (it != live.begin())
    --it;
  for (; it != live.end() && it->first < range.end; ++it) {
    Value other = it->second;
    if (!range.meets({it->first, it->first + planBytesOf(other)}))
      continue;
    if (mayTakeOver(result, other, position)) {
      replacedBy[other] = result;
      inPlace = true;
      continue;
    }
    auto diagnostic = fail(result.getOwner(), "overlap")
                      << "result " << result.getResultNumber() << " at bytes " << range.begin
                      << " to " << range.end << " meets a value that is still held";
    diagnostic.attachNote(other.getLoc())
        << "which stands at byte " << it->first << " and is read later";
  }
  for (OpResult other : placed)
    if (&arenaOf(other) == &arena &&
        range.meets(
            {places.offsetOf.lookup(other), places.offsetOf.lookup(other) + planBytesOf(other)}))
      fail(result.getOwner(), "overlap") << "results " << other.getResultNumber() << " and "
                                         << result.getResultNumber() << " share bytes";
  placed.push_back(result);
  if (!inPlace)
    arena.held += range.end - range.begin;
}

void PlanVerifier::overwriteArguments(Operation &op) {
  for (OpResult result : op.getResults())
    if (BlockArgument home = places.homeOf.lookup(result); home && places.source[result] == result)
      newest[home] = result;
}

/// Frees what no op reads after `position`; a successor in place keeps no more than its own bytes.
void PlanVerifier::release(int64_t position) {
  for (auto [it, end] = deaths.equal_range(position); it != end; ++it) {
    Value value = it->second;
    Arena &arena = arenaOf(value);
    auto found = arena.live.find(places.offsetOf.lookup(value));
    if (found != arena.live.end() && found->second == value)
      arena.live.erase(found);
    int64_t kept = replacedBy.contains(value) ? planBytesOf(replacedBy[value]) : 0;
    arena.held -= planBytesOf(value) - kept;
  }
  for (OpResult result : placed) {
    auto last = lastRead.find(result);
    Arena &arena = arenaOf(result);
    if (last == lastRead.end()) {
      arena.held -= planBytesOf(result);
      continue;
    }
    if (planBytesOf(result) > 0)
      arena.live[places.offsetOf.lookup(result)] = result;
    deaths.emplace(last->second, result);
  }
}

void PlanVerifier::visit(Operation &op, int64_t position) {
  if (isPlanConstant(&op))
    return;
  checkMemory(op);
  checkOperands(op);
  placed.clear();
  for (OpResult result : op.getResults())
    if (places.source[result] == result && !places.homeOf.contains(result))
      place(result, position);
  int64_t workspace = 0;
  if (auto attr = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kWorkspace);
      attr && attr.size() == 2) {
    workspace = attr[1];
    Range range{attr[0], attr[0] + workspace};
    device.end = std::max(device.end, range.end);
    auto meets = [&](Value value) {
      int64_t begin = places.offsetOf.lookup(value);
      return range.meets({begin, begin + planBytesOf(value)});
    };
    for (auto &[offset, value] : device.live)
      if (offset < range.end && meets(value))
        fail(&op, "overlap") << "has a workspace that meets a value that is still held";
    if (llvm::any_of(placed, meets))
      fail(&op, "overlap") << "has a workspace that meets its own result";
  }
  peak = std::max(peak, device.resident + device.held + workspace);
  overwriteArguments(op);
  release(position);
}

void PlanVerifier::checkReturns() {
  Operation *terminator = body.getTerminator();
  checkOperands(*terminator);
  for (BlockArgument argument : body.getArguments()) {
    auto donated =
        step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), LlmDialect::kDonated);
    if (!donated)
      continue;
    if (donated.getInt() < 0 ||
        donated.getInt() >= static_cast<int64_t>(terminator->getNumOperands()) ||
        places.homeOf.lookup(places.source[terminator->getOperand(donated.getInt())]) != argument)
      fail(step, "argument") << "argument " << argument.getArgNumber() << " is donated to result "
                             << donated.getInt() << ", which does not lie in its bytes";
  }
}

//===----------------------------------------------------------------------===//
// Claims
//===----------------------------------------------------------------------===//

void PlanVerifier::checkClaims() {
  if (claim(LlmDialect::kPeak) != peak)
    fail(step, "peak") << "claims a peak of " << claim(LlmDialect::kPeak) << " bytes, but holds "
                       << peak;
  if (device.claim != device.end)
    fail(step, "peak") << "claims an arena of " << device.claim << " bytes, but uses "
                       << device.end;
  if (host.claim != host.end)
    fail(step, "peak") << "claims an arena of " << host.claim << " bytes on the host, but uses "
                       << host.end;
  checkBudget(LlmDialect::kBudget, device, "");
  checkBudget(LlmDialect::kHostBudget, host, " of the host");
}

void PlanVerifier::checkBudget(StringRef name, const Arena &arena, StringRef whose) {
  Count needed = Count(arena.resident) + arena.padding + arena.end;
  int64_t budget = claim(name);
  if (!step->hasAttr(name)) {
    if (needed.isTooMany())
      fail(step, "size") << "needs " << arena.resident << " resident bytes, " << arena.padding
                         << " to align them and an arena of " << arena.end
                         << ", together more than 2^63" << whose << "; plan the model again";
  } else if (budget < 0)
    fail(step, "budget") << "has the budget" << whose << " " << step->getAttr(name)
                         << ", expected a number of bytes";
  else if (needed.isTooMany() || needed > budget)
    fail(step, "budget") << "needs " << arena.resident << " resident bytes, " << arena.padding
                         << " to align them and an arena of " << arena.end
                         << ", together more than the budget" << whose << " of " << budget;
}

LogicalResult PlanVerifier::run() {
  if (failed(checkPlanBytes(step)))
    return failure();
  device.claim = claim(LlmDialect::kArena);
  if (device.claim < 0) {
    fail(step, "peak") << "has no '" << LlmDialect::kArena
                       << "'; run apply-checkpoints, or plan-arena for a step without a plan";
    return failure();
  }
  if (step->hasAttr(LlmDialect::kHostArena))
    host.claim = claim(LlmDialect::kHostArena);
  auto addResident = [&](Arena &arena, int64_t bytes) {
    arena.resident += bytes;
    arena.padding += llvm::alignTo(bytes, kArenaAlignment) - bytes;
  };
  for (Operation &op : body)
    if (isPlanConstant(&op))
      for (Value result : op.getResults())
        addResident(device, result.getDefiningOp<EmptyOpInterface>() ? 0 : planBytesOf(result));
  for (BlockArgument argument : body.getArguments()) {
    addResident(arenaOf(argument), planBytesOf(argument));
    places.source[argument] = argument;
    places.homeOf[argument] = argument;
    newest[argument] = argument;
  }
  peak = device.resident;
  for (Operation &op : body.without_terminator()) {
    if (!readOffsets(op) || !readWorkspace(op))
      return failure();
    isPlanConstant(&op) ? checkConstant(op) : resolveStorage(op);
  }
  if (broken)
    return failure();
  findLastReads();
  for (auto [position, op] : llvm::enumerate(body.without_terminator()))
    visit(op, position);
  checkReturns();
  checkClaims();
  if (failed(verifyClones(step, places.source)))
    broken = true;
  if (failed(verifyFlights(step, places)))
    broken = true;
  if (failed(verifyPlanClaims(step, {peak, std::move(places.source)})))
    broken = true;
  return failure(broken);
}

LogicalResult llmmem::verifyPlan(func::FuncOp step) { return PlanVerifier(step).run(); }
