//===- PlanClaims.cpp - Checks of what a planned step claims ----------------===//
//
// These checks use neither the planner nor the analyses that write these attributes. They derive
// from the final ops what things cost, which ops are clones and which values are saved. The cost of
// one op comes from the interface that the analyses use as well: an error there is in the plan and
// in its check.
//
//===----------------------------------------------------------------------===//

#include "PlanClaims.h"
#include "PlanBytes.h"
#include "llmmem/Analysis/StateCopies.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Holds the ns of the choice of epilogues that was taken: by its ops, and by the step's end.
struct TakenChoice {
  std::optional<int64_t> cost, time;
};

class ClaimVerifier {
public:
  ClaimVerifier(func::FuncOp step, const DerivedPlan &derived)
      : step(step), body(step.getBody().front()), derived(derived) {}
  LogicalResult run();

private:
  void checkApplied();
  void checkPolicy();
  void checkCost(Operation &op);
  void sumCosts();
  void checkCertificate();
  void checkEpilogues();
  void checkEpilogue(DictionaryAttr entry, const TakenChoice &taken);
  void findSaved();
  void checkDecision(Operation &op, ArrayAttr words);

  InFlightDiagnostic fail(Operation *op, StringRef rule) {
    broken = true;
    return op->emitError() << "[" << rule << "] ";
  }
  std::optional<int64_t> readBound(DictionaryAttr claims, StringRef name, StringRef rule);
  bool isClone(Operation *op) const { return op->hasAttr(LlmDialect::kCloneOf); }
  bool isLeastPeak() const { return policy == "least-peak"; }

  func::FuncOp step;
  Block &body;
  const DerivedPlan &derived;
  bool broken = false;
  StringRef policy;
  llvm::DenseMap<int64_t, Operation *> originals;
  std::optional<int64_t> cost; // ns of all ops; none where the ops say nothing of it
  Operation *unpriced = nullptr;
  std::optional<int64_t> costBound, peakBound;
  llvm::DenseMap<Value, llm::Decision> decisions; // on saved values
};
} // namespace

/// Returns a number of bytes or ns that is claimed; nothing, after a diagnostic, where it is none.
std::optional<int64_t> ClaimVerifier::readBound(DictionaryAttr claims, StringRef name,
                                                StringRef rule) {
  Attribute attr = claims.get(name);
  if (!attr)
    return std::nullopt;
  auto number = dyn_cast<IntegerAttr>(attr);
  if (number && number.getType().isInteger(64) && number.getInt() >= 0)
    return number.getInt();
  fail(step, rule) << "'" << name << "' is " << attr << ", expected a 64-bit integer, 0 or more";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// What was decided and not done is no plan of this program.
void ClaimVerifier::checkApplied() {
  for (StringRef name : {LlmDialect::kSchedule, LlmDialect::kCopies, LlmDialect::kPlaces})
    if (step->hasAttr(name))
      fail(step, "applied") << "has '" << name << "', which was not applied; run apply-checkpoints";
  for (Operation &op : body)
    if (op.hasAttr(LlmDialect::kChunk))
      fail(&op, "applied") << "has '" << LlmDialect::kChunk
                           << "', which was not applied; run apply-checkpoints";
}

/// Returns whether `text` is a number of at least 1 after `name`.
static bool isNumberOf(StringRef text, StringRef name) {
  int64_t number = 0;
  return text.consume_front(name) && !text.getAsInteger(10, number) && number >= 1;
}

/// Returns whether `text` is a policy with its options, as in "selective=mlp,layernorm+reshard".
static bool isPolicy(StringRef text) {
  auto [head, options] = text.split('+');
  while (!options.empty()) {
    auto [option, rest] = options.split('+');
    if (option != "reshard" && !isNumberOf(option, "layers=") && !isNumberOf(option, "first="))
      return false;
    options = rest;
  }
  if (head.consume_front("selective="))
    return !head.empty() && llvm::all_of(head, [](char letter) {
      return llvm::isLower(letter) || letter == '_' || letter == ',';
    });
  return isNumberOf(head, "every=") ||
         llvm::is_contained({"none", "sqrt", "full", "selective", "budget", "least-peak"}, head);
}

void ClaimVerifier::checkPolicy() {
  Attribute attr = step->getAttr(LlmDialect::kPolicy);
  if (!attr)
    return;
  auto text = dyn_cast<StringAttr>(attr);
  if (!text || !isPolicy(text.getValue())) {
    fail(step, "policy") << "has the policy " << attr
                         << ", expected \"none\", \"every=K\", \"sqrt\", \"full\", \"selective\", "
                            "\"budget\" or \"least-peak\", with its options";
    return;
  }
  policy = text.getValue();
  if (policy == "budget" && !step->hasAttr(LlmDialect::kBudget))
    fail(step, "policy") << "claims the policy 'budget' and has no '" << LlmDialect::kBudget << "'";
  if (policy != "none")
    return;
  for (Operation &op : body)
    if (isClone(&op))
      fail(&op, "policy") << "runs again, and policy 'none' recomputes nothing";
}

static bool readsSaved(Operation &op) {
  std::optional<llm::Phase> phase = llm::readPhase(&op);
  return phase == llm::Phase::Backward || phase == llm::Phase::Update;
}

/// Returns what `read`, a value with bytes of its own, says about the result that `made` it, in a
/// clone or not.
static llm::Decision decisionOf(Value read, Value made, bool isClone) {
  return isClone        ? llm::Decision::Recompute
         : read != made ? llm::Decision::Offload
                        : llm::Decision::Keep;
}

/// Finds forward results that a backward or update op reads, as results of their first run.
void ClaimVerifier::findSaved() {
  for (Operation &op : body.without_terminator()) {
    bool isView = op.getNumResults() > 0 && llvm::all_of(op.getResults(), [&](Value result) {
                    return derived.source.lookup(result) != result;
                  });
    if (isView || !readsSaved(op))
      continue;
    for (Value operand : op.getOperands()) {
      Value read = derived.source.lookup(operand);
      auto result =
          dyn_cast_or_null<OpResult>(derived.source.lookup(read ? llm::copiedFrom(read) : read));
      if (!result)
        continue;
      Operation *writer = result.getOwner();
      if (llm::readPhase(writer) != llm::Phase::Forward)
        continue;
      auto of = writer->getAttrOfType<IntegerAttr>(LlmDialect::kCloneOf);
      Operation *original = of ? originals.lookup(of.getInt()) : writer;
      if (!original || result.getResultNumber() >= original->getNumResults())
        continue;
      Value saved = original->getResult(result.getResultNumber());
      llm::Decision seen = decisionOf(read, result, isClone(writer));
      auto [it, isFirst] = decisions.try_emplace(saved, seen);
      // It runs again where any reader reads a later run; else it leaves where any reads what came
      // back.
      if (seen == llm::Decision::Recompute || it->second == llm::Decision::Keep)
        it->second = seen;
    }
  }
}

void ClaimVerifier::checkDecision(Operation &op, ArrayAttr words) {
  if (words.size() != op.getNumResults()) {
    fail(&op, "decision") << "has " << words.size() << " decisions for " << op.getNumResults()
                          << " results";
    return;
  }
  for (auto [word, result] : llvm::zip(words, op.getResults())) {
    auto found = decisions.find(result);
    StringRef expected =
        llm::stringifyDecision(found == decisions.end() ? llm::Decision::Unsaved : found->second);
    auto text = dyn_cast<StringAttr>(word);
    if (!text || text.getValue() != expected)
      fail(&op, "decision") << "says " << word << " of result " << result.getResultNumber()
                            << ", expected \"" << expected
                            << "\" by what the backward and the update read";
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Only the time is taken as stated, because it depends on the device. The op itself states the
/// rest.
void ClaimVerifier::checkCost(Operation &op) {
  if (auto bytes = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kBytes)) {
    SmallVector<int64_t> sizes;
    for (Value result : op.getResults())
      sizes.push_back(planBytesOf(result));
    if (bytes.asArrayRef() != ArrayRef(sizes))
      fail(&op, "cost") << "claims '" << LlmDialect::kBytes << "' = " << bytes
                        << ", which its results do not have";
  }
  auto claimed = op.getAttrOfType<llm::CostAttr>(LlmDialect::kCost);
  if (!claimed)
    return;
  if (claimed.getNs() < 0)
    fail(&op, "cost") << "claims to take " << claimed.getNs() << " ns";
  auto cost = dyn_cast<CostOpInterface>(op);
  // What an op cannot count in 64 bits it calls negative, and the same claim would agree.
  if (claimed.getFlops() < 0 || claimed.getBytes() < 0 || claimed.getWorkspace() < 0)
    fail(&op, "cost") << "claims " << claimed.getFlops() << " FLOPs, " << claimed.getBytes()
                      << " bytes moved and " << claimed.getWorkspace()
                      << " of workspace, expected numbers of 0 or more";
  else if (cost && !op.hasAttr(LlmDialect::kCostFrom) &&
           (claimed.getFlops() != cost.getFlops() || claimed.getBytes() != cost.getBytesMoved() ||
            claimed.getWorkspace() != cost.getWorkspaceBytes()))
    fail(&op, "cost") << "claims " << claimed.getFlops() << " FLOPs, " << claimed.getBytes()
                      << " bytes moved and " << claimed.getWorkspace() << " of workspace, but has "
                      << cost.getFlops() << ", " << cost.getBytesMoved() << " and "
                      << cost.getWorkspaceBytes() << "; run annotate-memory";
  auto of = op.getAttrOfType<IntegerAttr>(LlmDialect::kCloneOf);
  Operation *original = of ? originals.lookup(of.getInt()) : nullptr;
  if (original && original->getAttr(LlmDialect::kCost) != claimed)
    fail(&op, "cost") << "is a clone of op " << of.getInt() << ", but claims another cost";
}

/// Steps that were planned without `annotate-memory` say nothing of time.
void ClaimVerifier::sumCosts() {
  __int128 sum = 0;
  bool isPriced = false;
  for (Operation &op : body.without_terminator()) {
    checkCost(op);
    if (auto claimed = op.getAttrOfType<llm::CostAttr>(LlmDialect::kCost)) {
      isPriced |= !llm::isHostCopy(&op); // those are priced by who plans them
      sum += isOnHostInEveryPlan(&op) ? 0 : std::max<int64_t>(claimed.getNs(), 0);
    } else if (!unpriced && isa<CostOpInterface>(op)) {
      unpriced = &op;
    }
  }
  if (!isPriced)
    unpriced = nullptr;
  else if (!unpriced)
    cost = sum > INT64_MAX ? INT64_MAX : static_cast<int64_t>(sum);
}

void ClaimVerifier::checkCertificate() {
  Attribute attr = step->getAttr(LlmDialect::kCertificate);
  if (!attr)
    return;
  auto claims = dyn_cast<DictionaryAttr>(attr);
  if (!claims) {
    fail(step, "certificate") << "has '" << LlmDialect::kCertificate << "' = " << attr
                              << ", expected a dictionary";
    return;
  }
  peakBound = readBound(claims, "peak_lower_bound", "certificate");
  if (peakBound && *peakBound > derived.peak)
    fail(step, "certificate") << "claims that every schedule needs " << *peakBound
                              << " bytes, but this one holds " << derived.peak;
  costBound = readBound(claims, "cost_lower_bound_ns", "certificate");
  if (!costBound)
    return;
  if (unpriced)
    fail(unpriced, "certificate") << "has no '" << LlmDialect::kCost
                                  << "', so that 'cost_lower_bound_ns' cannot be compared with the "
                                     "cost of all ops; run annotate-memory";
  else if (cost && *costBound > *cost)
    fail(step, "certificate") << "claims that every plan costs " << *costBound
                              << " ns, but its ops cost " << *cost;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Checks one choice that was compared: its plan's numbers stay within the bounds on all of them,
/// and the one that was taken is this program.
void ClaimVerifier::checkEpilogue(DictionaryAttr entry, const TakenChoice &taken) {
  std::optional<int64_t> ns = readBound(entry, "cost_ns", "epilogues");
  std::optional<int64_t> peak = readBound(entry, "peak", "epilogues");
  std::optional<int64_t> least = readBound(entry, "cost_lower_bound_ns", "epilogues");
  bool isTaken = entry.contains("taken");
  auto name = entry.getAs<StringAttr>("choice");
  StringRef choice = name ? name.getValue() : "";
  if (ns.has_value() != peak.has_value() || ns.has_value() == least.has_value()) {
    fail(step, "epilogues") << "'" << choice
                            << "' needs the 'cost_ns' and 'peak' of its plan, or the "
                               "'cost_lower_bound_ns' of all of them";
    return;
  }
  if (ns && costBound && *ns < *costBound)
    fail(step, "epilogues") << "'" << choice << "' has a plan of " << *ns
                            << " ns, below the bound of " << *costBound;
  if (peak && peakBound && *peak < *peakBound)
    fail(step, "epilogues") << "'" << choice << "' has a plan of " << *peak
                            << " bytes, below the bound of " << *peakBound;
  if (!isTaken) {
    // Plans that overlap are compared by their time.
    std::optional<int64_t> compared =
        readBound(entry, taken.time ? "time_ns" : "cost_ns", "epilogues");
    std::optional<int64_t> ofTaken = taken.time ? taken.time : taken.cost;
    if (compared && ofTaken && *compared < *ofTaken && !isLeastPeak())
      fail(step, "epilogues") << "'" << choice << "' has a plan of " << *compared
                              << " ns, cheaper than the one that was taken, of " << *ofTaken;
    return;
  }
  if (!ns) {
    fail(step, "epilogues") << "'" << choice << "' was taken and has no plan";
    return;
  }
  if (cost && *ns != *cost)
    fail(step, "epilogues") << "'" << choice << "' was taken at " << *ns << " ns, but the ops cost "
                            << *cost;
  if (*peak != derived.peak)
    fail(step, "epilogues") << "'" << choice << "' was taken at a peak of " << *peak
                            << " bytes, but the step holds " << derived.peak;
}

void ClaimVerifier::checkEpilogues() {
  Attribute attr = step->getAttr(LlmDialect::kEpilogues);
  if (!attr)
    return;
  auto entries = dyn_cast<ArrayAttr>(attr);
  if (!entries || !llvm::all_of(entries, llvm::IsaPred<DictionaryAttr>)) {
    fail(step, "epilogues") << "has '" << LlmDialect::kEpilogues << "' = " << attr
                            << ", expected a list of dictionaries";
    return;
  }
  llvm::StringSet<> choices;
  TakenChoice taken;
  int64_t numTaken = 0;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    auto choice = entry.getAs<StringAttr>("choice");
    if (!choice || !choices.insert(choice.getValue()).second)
      fail(step, "epilogues") << "compares " << entry << ", expected a 'choice' of its own";
    if (!entry.contains("taken"))
      continue;
    ++numTaken;
    if (auto ns = entry.getAs<IntegerAttr>("cost_ns"))
      taken.cost = ns.getInt();
    if (auto ns = entry.getAs<IntegerAttr>("time_ns"))
      taken.time = ns.getInt();
  }
  if (numTaken != 1)
    fail(step, "epilogues") << "says that " << numTaken << " choices were taken, expected one";
  for (auto entry : entries.getAsRange<DictionaryAttr>())
    checkEpilogue(entry, taken);
}

LogicalResult ClaimVerifier::run() {
  for (Operation &op : body)
    if (auto id = op.getAttrOfType<IntegerAttr>(LlmDialect::kId))
      originals[id.getInt()] = &op;
  checkApplied();
  checkPolicy();
  findSaved();
  for (Operation &op : body)
    if (auto words = op.getAttrOfType<ArrayAttr>(LlmDialect::kDecision))
      checkDecision(op, words);
  sumCosts();
  checkCertificate();
  checkEpilogues();
  return failure(broken);
}

LogicalResult llmmem::verifyPlanClaims(func::FuncOp step, const DerivedPlan &derived) {
  return ClaimVerifier(step, derived).run();
}
