//===- PipelineCuts.cpp - A forward function, cut into chunks ----------------===//

#include "PipelineCuts.h"
#include "Optimizers.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Planning/Pipeline/StageCuts.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static void addWithOperands(Operation *op, const PipelineCuts &cuts,
                            llvm::SetVector<Operation *> &ops) {
  for (Value operand : op->getOperands())
    if (Operation *writer = operand.getDefiningOp();
        writer && !cuts.activations.contains(writer) && !ops.contains(writer))
      addWithOperands(writer, cuts, ops);
  ops.insert(op);
}

llvm::SetVector<Operation *> PipelineCuts::opsOf(int64_t chunk) const {
  llvm::SetVector<Operation *> ops;
  for (Operation *op : chunks[chunk].ops)
    addWithOperands(op, *this, ops);
  return ops;
}

namespace {
class Cutter {
public:
  Cutter(func::FuncOp loss, llm::TrainingAttr training, const planning::PipelineShape &shape,
         const PipelineDevices &devices)
      : loss(loss), body(loss.getBody().front()), training(training), shape(shape),
        devices(devices) {}

  FailureOr<PipelineCuts> run();

private:
  void classify();
  LogicalResult findBlocks();
  int64_t heldBytes(BlockArgument parameter);
  void measureParameters();
  LogicalResult measureTimes(const DeviceModel &device, std::vector<planning::BlockSize> &sizes);
  LogicalResult makeChunks();
  FailureOr<std::vector<int64_t>> firstBlocks();
  FailureOr<std::vector<int64_t>> givenFirstBlocks();
  LogicalResult findOutputs();

  func::FuncOp loss;
  Block &body;
  llm::TrainingAttr training;
  const planning::PipelineShape &shape;
  const PipelineDevices &devices;
  std::vector<SmallVector<Operation *>> blocks;
  std::vector<planning::BlockSize> parameters; // of blocks, with their bytes alone
  PipelineCuts cuts;
};
} // namespace

/// Returns whether it is the count of dropped choices, or the sum of the ranks' counts.
static bool isCountOfDropped(Operation *op) {
  if (auto sum = dyn_cast<llm::AllReduceOp>(op))
    return sum.getX().getDefiningOp<llm::CountDroppedOp>() != nullptr;
  return isa<llm::CountDroppedOp>(op);
}

void Cutter::classify() {
  llvm::DenseSet<Value> ofParameters, ofInputs;
  for (BlockArgument argument : body.getArguments())
    (getRole(argument) == llm::Role::Param ? ofParameters : ofInputs).insert(argument);
  for (Operation &op : body.without_terminator()) {
    if (auto count = dyn_cast<llm::CountDroppedOp>(op))
      cuts.dropped = count;
    if (isCountOfDropped(&op))
      continue;
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

/// Returns a shape close to `shape` that is possible with this number of blocks. It keeps the
/// number of stages where it can, since the micro-batches of interleaved stages are a multiple of
/// it.
static std::string shapeFor(int64_t blocks, const planning::PipelineShape &shape) {
  constexpr int64_t kFewestInterleaved = 2;
  const int64_t chunks = blocks / shape.stages;
  if (shape.chunks > 1 && chunks >= kFewestInterleaved)
    return std::to_string(chunks) + " chunks a stage" +
           (chunks > kFewestInterleaved ? " or fewer" : "");
  std::string advice;
  if (shape.chunks > 1)
    advice = "pipeline 1f1b, which has one chunk a stage";
  if (chunks < 1)
    advice += (advice.empty() ? "pp=" : ", and pp=") +
              std::to_string(std::max<int64_t>(blocks, 1)) + " or fewer";
  return advice;
}

/// Ops before the first block belong to it, and ops without a block belong to the block that they
/// follow.
LogicalResult Cutter::findBlocks() {
  std::optional<int64_t> current;
  for (Operation &op : body.without_terminator()) {
    if (!cuts.activations.contains(&op))
      continue;
    std::optional<int64_t> block = getBlock(&op);
    if (block && current && *block < *current)
      return op.emitError() << "belongs to block " << *block << " and stands after block "
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
  return emitError(loss.getLoc()) << "has " << found << " blocks, fewer than the " << wanted
                                  << " chunks of " << shape.stages << " stages; take "
                                  << shapeFor(found, shape);
}

/// Returns what a rank holds for a parameter throughout the step: it, its gradient and its state,
/// of which ZeRO leaves a part.
int64_t Cutter::heldBytes(BlockArgument parameter) {
  auto type = cast<RankedTensorType>(parameter.getType());
  const int64_t bytes = bytesOfType(type);
  if (loss.getArgAttr(parameter.getArgNumber(), LlmDialect::kFrozen))
    return bytes;
  int64_t states = 0;
  for (const OptimizerState &state : optimizerOf(training, parameter).statesOf(training, type))
    states += bytesOfType(state.type);
  auto sharing = loss.getArgAttrOfType<llm::DataParallelAttr>(parameter.getArgNumber(),
                                                              LlmDialect::kDataParallel);
  int64_t ranks = 1;
  if (auto mesh = loss->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh); mesh && sharing)
    ranks = mesh.getGroupSize(sharing.getAxes());
  // Under ZeRO-3 the type is that of the part.
  const int64_t zero = sharing && sharing.getZero() < 3 ? sharing.getZero() : 0;
  return bytes + (zero >= 2 ? bytes / ranks : bytes) + (zero >= 1 ? states / ranks : states);
}

/// A parameter that two blocks read counts in the first.
void Cutter::measureParameters() {
  llvm::DenseSet<Value> measured;
  parameters.resize(blocks.size());
  for (auto [block, size] : llvm::zip_equal(blocks, parameters))
    for (Operation *op : block)
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && getRole(argument) == llm::Role::Param && measured.insert(argument).second)
          size.bytes += heldBytes(argument);
}

/// A backward takes about twice the time of its forward, so costs of forwards compare blocks.
LogicalResult Cutter::measureTimes(const DeviceModel &device,
                                   std::vector<planning::BlockSize> &sizes) {
  sizes = parameters;
  for (auto [block, size] : llvm::zip_equal(blocks, sizes))
    for (Operation *op : block) {
      FailureOr<OpCost> cost = getCost(op, device);
      if (failed(cost))
        return failure();
      size.ns += cost->ns;
    }
  return success();
}

/// Returns the first block of each chunk, as the user has cut.
FailureOr<std::vector<int64_t>> Cutter::givenFirstBlocks() {
  const int64_t chunks = static_cast<int64_t>(devices.blocksOfChunks.size());
  if (chunks != shape.numChunks())
    return emitError(loss.getLoc())
           << "is cut into " << chunks << " parts (stages), and the pipeline has "
           << shape.numChunks() << (shape.chunks > 1 ? " chunks" : " stages")
           << "; give the blocks of each";
  std::vector<int64_t> firsts;
  int64_t first = 0;
  for (int64_t count : devices.blocksOfChunks) {
    firsts.push_back(first);
    first += count;
  }
  if (first != static_cast<int64_t>(blocks.size()))
    return emitError(loss.getLoc()) << "has " << blocks.size() << " blocks, and the parts (stages) "
                                    << "have " << first << " together; give parts of all blocks";
  return firsts;
}

/// Returns the first block of each chunk, which is cut for its device.
FailureOr<std::vector<int64_t>> Cutter::firstBlocks() {
  if (!devices.blocksOfChunks.empty())
    return givenFirstBlocks();
  measureParameters();
  std::vector<std::vector<planning::BlockSize>> sizes(shape.numChunks());
  std::vector<int64_t> memory;
  for (auto [chunk, ofDevice] : llvm::enumerate(sizes)) {
    // Where two stages have it, it is cut for the one with less memory.
    int64_t stage = shape.stageOf(chunk);
    const int64_t other = shape.stageOf(chunk, shape.microBatches - 1);
    if (devices.budget(other) < devices.budget(stage))
      stage = other;
    if (failed(measureTimes(devices.device(stage), ofDevice)))
      return failure();
    memory.push_back(devices.budget(stage) /
                     static_cast<int64_t>(shape.chunksOfStage(stage).size()));
  }
  return planning::cutStages(sizes, memory);
}

LogicalResult Cutter::makeChunks() {
  FailureOr<std::vector<int64_t>> firsts = firstBlocks();
  if (failed(firsts))
    return failure();
  cuts.chunks.resize(firsts->size());
  for (auto [number, first] : llvm::enumerate(*firsts)) {
    size_t end = number + 1 < firsts->size() ? (*firsts)[number + 1] : blocks.size();
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

FailureOr<PipelineCuts> llmmem::cutPipeline(func::FuncOp loss, llm::TrainingAttr training,
                                            const planning::PipelineShape &shape,
                                            const PipelineDevices &devices) {
  return Cutter(loss, training, shape, devices).run();
}
