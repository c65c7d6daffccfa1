//===- PlanClones.cpp - Clones, and who reads which run ---------------------===//

#include "PlanClones.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Returns the attributes that say what an op does, without what plans and people wrote in
/// addition.
static DictionaryAttr getMeaning(Operation *op) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attr : op->getAttrDictionary())
    if (!attr.getName().strref().starts_with("llm."))
      kept.push_back(attr);
  // For an op that no dialect registers, this says what it does.
  if (Attribute properties = op->isRegistered() ? Attribute() : op->getPropertiesAsAttribute())
    kept.emplace_back(StringAttr::get(op->getContext(), "properties"), properties);
  return DictionaryAttr::get(op->getContext(), kept);
}

static bool haveSameRegions(Operation *a, Operation *b) {
  if (a->getNumRegions() != b->getNumRegions())
    return false;
  return llvm::all_of(llvm::zip(a->getRegions(), b->getRegions()), [](auto regions) {
    auto &[mine, its] = regions;
    return OperationEquivalence::isRegionEquivalentTo(&mine, &its,
                                                      OperationEquivalence::IgnoreLocations);
  });
}

namespace {
/// Names a result of an original, of which there may be several runs, or an argument.
using Identity = std::pair<void *, unsigned>;

class CloneVerifier {
public:
  CloneVerifier(func::FuncOp step, const llvm::DenseMap<Value, Value> &source)
      : body(step.getBody().front()), source(source) {}

  LogicalResult run() {
    for (Operation &op : body)
      if (auto id = op.getAttrOfType<IntegerAttr>(LlmDialect::kId))
        if (!originals.try_emplace(id.getInt(), &op).second)
          fail(&op, "clone") << "has '" << LlmDialect::kId << "' = " << id.getInt()
                             << ", which another op has";
    for (Operation &op : body)
      checkMeaning(op);
    if (broken) // then it is not known what is a run of what
      return failure();
    for (BlockArgument argument : body.getArguments()) {
      begin(argument);
      end(argument);
    }
    for (Operation &op : body)
      visit(op);
    return failure(broken);
  }

private:
  /// Is one of several runs. They are numbered over all of them; a value that came back from the
  /// host has the number of the run that went there.
  struct Run {
    int64_t number = 0;
    Value value;
  };

  InFlightDiagnostic fail(Operation *op, StringRef rule) {
    broken = true;
    return op->emitError() << "[" << rule << "] ";
  }

  Value storageOf(Value value) const { return source.lookup(value); }
  Value copiedFrom(Value value) const { return storageOf(llm::copiedFrom(storageOf(value))); }
  Identity identityOf(Value storage) const;

  void checkMeaning(Operation &op);
  void checkInstance(Operation &op);
  void checkReads(Operation &op);
  void visit(Operation &op);
  void begin(Value storage);
  void end(Value storage);

  Block &body;
  const llvm::DenseMap<Value, Value> &source;
  bool broken = false;
  llvm::DenseMap<int64_t, Operation *> originals;
  llvm::DenseMap<int64_t, int64_t> timesRun; // of originals, by their numbers
  int64_t numRuns = 0;
  llvm::DenseMap<Value, int64_t> numberOf;           // the run that a value is
  llvm::DenseMap<Identity, Run> latest[2], begun[2]; // on the device and on the host
};
} // namespace

/// Checks a clone against its original: two values are runs of one if they are the same result of
/// the same original.
void CloneVerifier::checkMeaning(Operation &op) {
  auto of = op.getAttrOfType<IntegerAttr>(LlmDialect::kCloneOf);
  if (!of)
    return;
  Operation *original = originals.lookup(of.getInt());
  if (!original || original->getName() != op.getName() || getMeaning(original) != getMeaning(&op) ||
      original->getResultTypes() != op.getResultTypes() ||
      original->getNumOperands() != op.getNumOperands() || !haveSameRegions(original, &op)) {
    fail(&op, "clone") << "is a clone of op " << of.getInt() << ", but does not do the same";
    return;
  }
  for (auto [mine, its] : llvm::zip(op.getOperands(), original->getOperands()))
    if (mine.getType() != its.getType() ||
        identityOf(copiedFrom(mine)) != identityOf(copiedFrom(its)))
      fail(&op, "clone") << "is a clone of op " << of.getInt() << ", but reads other values";
}

/// Returns the device-to-host copy whose bits `down` brings back within this step; null where they
/// lie on the host throughout, or were made there.
static llm::CopyToHostOp deviceToHostCopyOf(llm::CopyToDeviceOp down) {
  Operation *writer = down ? down.getHost().getDefiningOp() : nullptr;
  if (auto wait = dyn_cast_or_null<llm::WaitOp>(writer))
    writer = wait.getStart();
  return dyn_cast_or_null<llm::CopyToHostOp>(writer);
}

/// Returns the value that went to the host where `storage` is a copy of one, there or back on the
/// device; null for all else.
static Value copiedBefore(Value storage) {
  auto up = storage.getDefiningOp<llm::CopyToHostOp>();
  if (!up)
    up = deviceToHostCopyOf(storage.getDefiningOp<llm::CopyToDeviceOp>());
  return up ? up.getX() : Value();
}

Identity CloneVerifier::identityOf(Value storage) const {
  while (Value before = copiedBefore(storage))
    storage = storageOf(before);
  auto result = dyn_cast<OpResult>(storage);
  if (!result)
    return {storage.getAsOpaquePointer(), 0};
  auto of = result.getOwner()->getAttrOfType<IntegerAttr>(LlmDialect::kCloneOf);
  Operation *original = of ? originals.lookup(of.getInt()) : result.getOwner();
  return {original, result.getResultNumber()};
}

//===----------------------------------------------------------------------===//
// Who reads which run
//===----------------------------------------------------------------------===//

/// Checks that `llm.instance` counts the runs of an op, whose first is the original.
void CloneVerifier::checkInstance(Operation &op) {
  auto of = op.getAttrOfType<IntegerAttr>(LlmDialect::kCloneOf);
  auto id = op.getAttrOfType<IntegerAttr>(of ? LlmDialect::kCloneOf : LlmDialect::kId);
  if (!id)
    return;
  int64_t expected = timesRun[id.getInt()]++;
  auto stated = op.getAttrOfType<IntegerAttr>(LlmDialect::kInstance);
  if (of && expected == 0)
    fail(&op, "clone") << "is a clone of op " << id.getInt() << ", which stands after it";
  else if (of && (!stated || stated.getInt() != expected))
    fail(&op, "clone") << "is run " << expected << " of op " << id.getInt() << ", expected '"
                       << LlmDialect::kInstance << "' = " << expected;
}

/// What is started reads what is begun on its own queue, too.
void CloneVerifier::checkReads(Operation &op) {
  for (auto [position, operand] : llvm::enumerate(op.getOperands())) {
    Value storage = storageOf(operand);
    Identity identity = identityOf(storage);
    bool onHost = llm::isOnHost(storage.getType());
    int64_t number = numberOf.lookup(storage);
    Run expected = latest[onHost].lookup(identity);
    if (!expected.value || number == expected.number ||
        (llm::isStarted(&op) && number == begun[onHost].lookup(identity).number))
      continue;
    InFlightDiagnostic error = fail(&op, "latest");
    error << "reads an earlier run as operand " << position
          << " than the latest before it; expected what that one made";
    error.attachNote(expected.value.getLoc()) << "the latest run is this";
    return;
  }
}

void CloneVerifier::begin(Value storage) {
  Value before = copiedBefore(storage);
  bool onHost = llm::isOnHost(storage.getType());
  numberOf[storage] = before ? numberOf.lookup(storageOf(before)) : ++numRuns;
  begun[onHost][identityOf(storage)] = {numberOf[storage], storage};
}

/// A copy of an earlier run that arrives after a later one counts as that.
void CloneVerifier::end(Value storage) {
  Run &run = latest[llm::isOnHost(storage.getType())][identityOf(storage)];
  int64_t &number = numberOf[storage];
  if (number > run.number)
    run = {number, storage};
  else
    number = run.number;
}

void CloneVerifier::visit(Operation &op) {
  if (isa<llm::WaitOp>(op)) {
    for (Value operand : op.getOperands())
      end(storageOf(operand));
    return;
  }
  checkInstance(op);
  // A view reads nothing: who reads its result does. Without results it has nothing to read.
  bool isView = op.getNumResults() > 0 && llvm::all_of(op.getResults(), [&](Value result) {
                  return storageOf(result) != result;
                });
  if (!isView)
    checkReads(op);
  for (Value result : op.getResults()) {
    if (storageOf(result) != result)
      continue;
    begin(result);
    if (!llm::isStarted(&op))
      end(result);
  }
}

LogicalResult llmmem::verifyClones(func::FuncOp step, const llvm::DenseMap<Value, Value> &source) {
  return CloneVerifier(step, source).run();
}
