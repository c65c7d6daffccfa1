//===- SharedLaunches.cpp - Ops of a step that share a launch --------------===//

#include "SharedLaunches.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Gpu/LaunchParts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

/// Returns none for an op that launches nothing.
static std::optional<SmallVector<unsigned>> operandsInCommon(Operation *op) {
  if (llm::runsOnHost(op))
    return std::nullopt;
  auto emission = dyn_cast<KernelOpInterface>(op);
  return emission ? emission.getOperandsInCommon() : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns the operand, in an argument of the step, that a result is in place of.
static std::optional<unsigned> takenOver(OpResult result, const StepPlaces &places) {
  Place place = places.placeOf(result);
  if (place.argument)
    for (OpOperand &operand : result.getOwner()->getOpOperands())
      if (places.placeOf(operand.get()) == place)
        return operand.getOperandNumber();
  return std::nullopt;
}

RunValues::RunValues(ArrayRef<Operation *> run, const StepPlaces &places) {
  auto add = [&](Value value, bool written) {
    values.push_back(value);
    isWritten.push_back(written);
    return static_cast<unsigned>(values.size() - 1);
  };
  SmallVector<unsigned> common = operandsInCommon(run.front()).value_or(SmallVector<unsigned>());
  for (Operation *op : run) {
    SmallVector<unsigned> &numbers = operands.emplace_back();
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      bool isKnown = op != run.front() && llvm::is_contained(common, number);
      numbers.push_back(isKnown ? operands.front()[number] : add(operand.get(), false));
    }
    SmallVector<unsigned> &ofResults = results.emplace_back();
    for (OpResult result : op->getResults()) {
      std::optional<unsigned> operand = takenOver(result, places);
      // The first op's operands are included nevertheless, because its own kernel would begin with
      // them.
      std::optional<unsigned> own;
      if (!operand || op == run.front())
        own = add(result, true);
      ofResults.push_back(operand ? numbers[*operand] : *own);
      isWritten[ofResults.back()] = true;
    }
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {
/// A segment of neighbouring ops that could run in any order.
class Stretch {
public:
  explicit Stretch(const StepPlaces &places) : places(places) {}

  bool takes(Operation *op) const;
  void add(Operation *op);
  /// Returns the groups of its ops that share a launch, and begins the next segment.
  SmallVector<OpRun> finish();

private:
  SmallVector<ByteRange> rangesOf(ValueRange values) const;

  const StepPlaces &places;
  OpRun ops;
  SmallVector<ByteRange> read, written;
};
} // namespace

SmallVector<ByteRange> Stretch::rangesOf(ValueRange values) const {
  SmallVector<ByteRange> ranges;
  for (Value value : values)
    ranges.push_back(rangeOf(value, places.placeOf(value)));
  return ranges;
}

bool Stretch::takes(Operation *op) const {
  if (!operandsInCommon(op))
    return false;
  SmallVector<ByteRange> reads = rangesOf(op->getOperands()), writes = rangesOf(op->getResults());
  return !anyMeet(reads, written) && !anyMeet(writes, written) && !anyMeet(writes, read);
}

void Stretch::add(Operation *op) {
  ops.push_back(op);
  read.append(rangesOf(op->getOperands()));
  written.append(rangesOf(op->getResults()));
}

/// Returns whether `op` equals the ops of `run` except for the shapes of its tensors, and its
/// buffers fit the launch.
static bool canJoin(const OpRun &run, Operation *op, const StepPlaces &places) {
  Operation *first = run.front();
  auto sameElements = [](TypeRange some, TypeRange others) {
    return llvm::equal(some, others, [](Type x, Type y) {
      return getElementTypeOrSelf(x) == getElementTypeOrSelf(y);
    });
  };
  if (op->getName() != first->getName() ||
      op->getPropertiesAsAttribute() != first->getPropertiesAsAttribute() ||
      !sameElements(op->getOperandTypes(), first->getOperandTypes()) ||
      !sameElements(op->getResultTypes(), first->getResultTypes()))
    return false;
  SmallVector<unsigned> common = *operandsInCommon(op);
  int64_t taken = llvm::count_if(
      op->getResults(), [&](OpResult result) { return takenOver(result, places).has_value(); });
  int64_t buffers = op->getNumOperands() + op->getNumResults() - common.size() - taken;
  int64_t needed = common.size() + buffers * (static_cast<int64_t>(run.size()) + 1);
  return needed <= kMostLaunchBuffers && llvm::all_of(common, [&](unsigned number) {
           return op->getOperand(number) == first->getOperand(number);
         });
}

SmallVector<OpRun> Stretch::finish() {
  SmallVector<OpRun> runs;
  for (Operation *op : ops) {
    auto run = llvm::find_if(runs, [&](const OpRun &some) { return canJoin(some, op, places); });
    run == runs.end() ? runs.push_back({op}) : run->push_back(op);
  }
  ops.clear();
  read.clear();
  written.clear();
  return runs;
}

llvm::DenseMap<Operation *, OpRun> llmmem::findSharedLaunches(func::FuncOp step,
                                                              const StepPlaces &places) {
  llvm::DenseMap<Operation *, OpRun> shared;
  Stretch stretch(places);
  auto finish = [&] {
    for (const OpRun &run : stretch.finish()) {
      if (run.size() < 2)
        continue;
      for (Operation *op : run)
        shared[op] = {};
      shared[run.front()] = run;
    }
  };
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (isViewOp(&op))
      continue;
    if (!stretch.takes(&op))
      finish();
    if (stretch.takes(&op))
      stretch.add(&op);
  }
  finish();
  return shared;
}
