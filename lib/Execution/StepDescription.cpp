//===- StepDescription.cpp - What a planned step reads and gives -----------===//

#include "llmmem/Execution/StepDescription.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static RankedTensorType wholeOf(func::FuncOp step, unsigned argument) {
  auto whole = step.getArgAttrOfType<TypeAttr>(argument, LlmDialect::kWhole);
  return cast<RankedTensorType>(whole ? whole.getValue() : step.getArgument(argument).getType());
}

static Shard shardOf(func::FuncOp step, unsigned argument) {
  Shard shard;
  llvm::append_range(shard.shape, wholeOf(step, argument).getShape());
  auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  auto sharding = step.getArgAttrOfType<llm::ShardingAttr>(argument, LlmDialect::kSharding);
  auto parts = step.getArgAttrOfType<ArrayAttr>(argument, LlmDialect::kShard);
  if (!mesh)
    return shard;
  if (step->hasAttr(LlmDialect::kStage))
    shard.stages = mesh.getAxisBits(Builder(step.getContext()).getStrArrayAttr({"pp"}));
  if (auto server = step.getArgAttrOfType<ArrayAttr>(argument, LlmDialect::kServer))
    shard.server = mesh.getAxisBits(server);
  for (auto [number, axis, ranks] : llvm::enumerate(mesh.getNames(), mesh.getSizes())) {
    Shard::Axis split{ranks, -1};
    for (unsigned dimension = 0; sharding && dimension < sharding.getRank(); ++dimension)
      if (llvm::is_contained(sharding.getAxes(dimension), axis))
        split.dimension = dimension;
    if (split.dimension < 0 && !(parts && llvm::is_contained(parts, axis)))
      continue;
    shard.axes |= int64_t(1) << number;
    shard.parts *= ranks;
    shard.split.push_back(split);
  }
  for (unsigned dimension = 0; sharding && dimension < sharding.getRank(); ++dimension)
    shard.pieces.emplace_back(sharding.getPiecesOf(dimension));
  return shard;
}

static StepArgument describeArgument(func::FuncOp step, unsigned number) {
  auto name = step.getArgAttrOfType<StringAttr>(number, LlmDialect::kName);
  auto type = cast<RankedTensorType>(step.getArgument(number).getType());
  auto initial = step.getArgAttrOfType<FloatAttr>(number, LlmDialect::kInitial);
  return {.role = llm::readRole(step, number),
          .name = name ? name.str() : "",
          .type = type,
          .bytes = bytesOfType(type),
          .shard = shardOf(step, number),
          .whole = wholeOf(step, number),
          .initial = initial ? initial.getValueAsDouble() : 0.0,
          .transposed = step.getArgAttr(number, LlmDialect::kTransposed) != nullptr};
}

/// Returns the stages of a pipeline, or the function alone.
static SmallVector<func::FuncOp> stagesOf(func::FuncOp step) {
  if (!step->hasAttr(LlmDialect::kStage))
    return {step};
  return findStepFunctions(step->getParentOfType<ModuleOp>());
}

void StepDescription::describeResults(func::FuncOp step) {
  resultInfo.resize(step.getNumResults());
  Operation *terminator = step.getBody().front().getTerminator();
  for (auto [info, value] : llvm::zip_equal(resultInfo, terminator->getOperands())) {
    Operation *op = value.getDefiningOp();
    auto name = op ? op->getAttrOfType<StringAttr>(LlmDialect::kName) : StringAttr();
    info = {cast<RankedTensorType>(value.getType()), bytesOfType(value.getType()), std::nullopt,
            name ? name.str() : ""};
  }
}

StepDescription::StepDescription(func::FuncOp step) {
  if (auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh))
    llvm::append_range(meshSizes, mesh.getSizes());
  describeResults(step);
  for (unsigned number = 0; number < step.getNumArguments(); ++number) {
    argumentInfo.push_back(describeArgument(step, number));
    if (auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated))
      resultInfo[donated.getInt()].donatedArgument = number;
  }
  for (func::FuncOp stage : stagesOf(step))
    for (BlockArgument argument : stage.getArguments())
      for (auto [name, described] :
           {std::pair("ids", &idsOfStep), std::pair("pixels", &pixelsOfStep)})
        if (!*described && getName(argument) == name)
          *described = describeArgument(stage, argument.getArgNumber());
  arena = step->getAttrOfType<IntegerAttr>(LlmDialect::kArena).getInt();
  if (auto host = step->getAttrOfType<IntegerAttr>(LlmDialect::kHostArena))
    hostArena = host.getInt();
  hostIsArgument = hostArena > 0;
  auto pipeline =
      step->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(LlmDialect::kPipeline);
  if (auto names = pipeline ? pipeline.getAs<ArrayAttr>("parameters") : ArrayAttr())
    for (StringRef name : names.getAsValueRange<StringAttr>())
      parametersOfStages.push_back(name.str());
}

void StepDescription::addUpdate(const StepDescription &update) {
  arena = std::max(arena, update.arena);
  hostArena = std::max(hostArena, update.hostArena);
  for (const StepResult &result : update.resultInfo)
    if (llvm::none_of(resultInfo, [&](const StepResult &known) {
          return known.donatedArgument == result.donatedArgument;
        }))
      resultInfo.push_back(result);
}
