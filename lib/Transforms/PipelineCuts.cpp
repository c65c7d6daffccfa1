//===- PipelineCuts.cpp - A forward function, cut into chunks ----------------===//

#include "PipelineCuts.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Planning/Pipeline/StageCuts.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
class Cutter {
public:
  Cutter(func::FuncOp loss, const planning::PipelineShape &shape, const DeviceModel &device)
      : loss(loss), body(loss.getBody().front()), shape(shape), device(device) {}

  FailureOr<PipelineCuts> run();

private:
  void classify();
  LogicalResult findBlocks();
  LogicalResult measure(ArrayRef<Operation *> block, planning::BlockSize &size);
  LogicalResult makeChunks();
  LogicalResult findOutputs();

  func::FuncOp loss;
  Block &body;
  const planning::PipelineShape &shape;
  const DeviceModel &device;
  std::vector<SmallVector<Operation *>> blocks;
  llvm::DenseSet<Value> measured; // parameters
  PipelineCuts cuts;
};
} // namespace

void Cutter::classify() {
  llvm::DenseSet<Value> ofParameters, ofInputs;
  for (BlockArgument argument : body.getArguments())
    (getRole(argument) == llm::Role::Param ? ofParameters : ofInputs).insert(argument);
  for (Operation &op : body.without_terminator()) {
    auto reads = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(), [&](Value value) { return values.contains(value); });
    };
    bool readsParameters = reads(ofParameters), readsInputs = reads(ofInputs);
    if (readsParameters)
      ofParameters.insert_range(op.getResults());
    if (readsInputs)
      ofInputs.insert_range(op.getResults());
    if (readsParameters && readsInputs)
      cuts.activations.insert(&op);
    else if (readsInputs)
      cuts.ofMicroBatch.insert(&op);
  }
}

/// Ops before the first block belong to it, those behind a block and without one to that.
LogicalResult Cutter::findBlocks() {
  std::optional<int64_t> current;
  for (Operation &op : body.without_terminator()) {
    if (!cuts.activations.contains(&op))
      continue;
    std::optional<int64_t> block = getBlock(&op);
    if (block && current && *block < *current)
      return op.emitError() << "belongs to block " << *block << " and stands behind block "
                            << *current << "; stages are consecutive blocks";
    if (blocks.empty() || (block && current && *block != *current))
      blocks.emplace_back();
    if (block)
      current = block;
    blocks.back().push_back(&op);
  }
  int64_t found = static_cast<int64_t>(blocks.size()), wanted = shape.numChunks();
  if (found >= wanted)
    return success();
  InFlightDiagnostic error = emitError(loss.getLoc());
  error << "has " << found << " blocks, fewer than the " << wanted << " chunks of " << shape.stages
        << " stages; take pp=" << std::max<int64_t>(found / shape.chunks, 1) << " or fewer";
  return error;
}

/// A backward takes about twice the time of its forward, so costs of forwards compare blocks. A
/// parameter that two blocks read counts in the first.
LogicalResult Cutter::measure(ArrayRef<Operation *> block, planning::BlockSize &size) {
  for (Operation *op : block) {
    FailureOr<OpCost> cost = getCost(op, device);
    if (failed(cost))
      return failure();
    size.ns += cost->ns;
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && getRole(argument) == llm::Role::Param && measured.insert(argument).second)
        size.bytes += bytesOfType(argument.getType());
  }
  return success();
}

LogicalResult Cutter::makeChunks() {
  std::vector<planning::BlockSize> sizes(blocks.size());
  for (auto [block, size] : llvm::zip_equal(blocks, sizes))
    if (failed(measure(block, size)))
      return failure();
  std::vector<int64_t> firsts = planning::cutStages(sizes, shape.numChunks());
  cuts.chunks.resize(firsts.size());
  for (auto [number, first] : llvm::enumerate(firsts)) {
    size_t end = number + 1 < firsts.size() ? firsts[number + 1] : blocks.size();
    for (size_t block = first; block < end; ++block)
      llvm::append_range(cuts.chunks[number].ops, blocks[block]);
  }
  return success();
}

LogicalResult Cutter::findOutputs() {
  llvm::DenseMap<Operation *, int64_t> chunkOf;
  for (auto [number, chunk] : llvm::enumerate(cuts.chunks))
    for (Operation *op : chunk.ops)
      chunkOf[op] = number;
  for (auto [number, chunk] : llvm::enumerate(cuts.chunks))
    for (Operation *op : chunk.ops)
      for (Value result : op->getResults()) {
        int64_t last = number;
        for (Operation *user : result.getUsers())
          if (!user->hasTrait<OpTrait::IsTerminator>())
            last = std::max(last, chunkOf.lookup(user));
        if (last > static_cast<int64_t>(number) &&
            !isa<FloatType>(getElementTypeOrSelf(result.getType())))
          return op->emitError("gives later stages what has no gradient; give it a copy in each");
        for (int64_t before = number; before < last; ++before)
          cuts.chunks[before].outputs.push_back(result);
      }
  return success();
}

FailureOr<PipelineCuts> Cutter::run() {
  classify();
  if (failed(findBlocks()) || failed(makeChunks()) || failed(findOutputs()))
    return failure();
  return std::move(cuts);
}

FailureOr<PipelineCuts> llmmem::cutPipeline(func::FuncOp loss, const planning::PipelineShape &shape,
                                            const DeviceModel &device) {
  return Cutter(loss, shape, device).run();
}
