//===- PipelineStages.cpp - The steps of all stages of a pipeline ------------===//

#include "DifferentiationStep.h"
#include "PipelineStage.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static LogicalResult check(func::FuncOp loss, const planning::PipelineShape &shape) {
  if (std::optional<std::string> error = planning::checkShape(shape))
    return emitError(loss.getLoc()) << *error;
  auto mesh = loss->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  if (!mesh || !mesh.findAxis(kPipelineAxis))
    return emitError(loss.getLoc())
           << "has no mesh with the axis " << kPipelineAxis << " to be cut along";
  auto count = loss->getAttrOfType<IntegerAttr>(LlmDialect::kMicroBatches);
  if (!count || count.getInt() != shape.microBatches)
    return emitError(loss.getLoc()) << "is no function of one of " << shape.microBatches
                                    << " micro-batches; split it first (split-micro-batches)";
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    if (Operation *other =
            SymbolTable::lookupSymbolIn(loss->getParentOp(), ("stage" + Twine(stage)).str()))
      return other->emitError("stands where the step of a stage is to be; remove it");
  return success();
}

/// Finds which stages read each parameter that is trained.
static void findReaders(Pipeline &pipeline, ArrayRef<unsigned> trained) {
  for (int64_t stage = 0; stage < pipeline.shape.stages; ++stage)
    for (unsigned argument : findReadArguments(pipeline, stage))
      if (llvm::is_contained(trained, argument))
        pipeline.readers[argument].push_back(stage);
}

static void describePipeline(const Pipeline &pipeline, ArrayRef<unsigned> trained) {
  func::FuncOp loss = pipeline.loss;
  Builder builder(loss.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  SmallVector<Attribute> names;
  for (BlockArgument argument : loss.getArguments())
    if (llvm::is_contained(trained, argument.getArgNumber()) ||
        loss.getArgAttr(argument.getArgNumber(), LlmDialect::kFrozen))
      names.push_back(builder.getStringAttr(getName(argument)));
  auto description = builder.getDictionaryAttr(
      {builder.getNamedAttr("schedule", builder.getStringAttr(nameOf(pipeline.shape.kind))),
       number("stages", pipeline.shape.stages),
       number("micro_batches", pipeline.shape.microBatches),
       number("chunks", pipeline.shape.chunks),
       builder.getNamedAttr("parameters", builder.getArrayAttr(names))});
  loss->getParentOfType<ModuleOp>()->setAttr(LlmDialect::kPipeline, description);
}

LogicalResult llmmem::buildPipelineStages(func::FuncOp loss, llm::TrainingAttr training,
                                          const planning::PipelineShape &shape,
                                          ArrayRef<DeviceModel> devices, ArrayRef<int64_t> budgets,
                                          ArrayRef<int64_t> blocksOfChunks) {
  if (failed(check(loss, shape)))
    return failure();
  if (training.getLossScaling())
    return emitError(loss.getLoc(), "is scaled, which stages of a pipeline cannot do yet; import "
                                    "with --loss-scale=none, or leave pp out of the mesh");
  FailureOr<SmallVector<unsigned>> trained = checkLoss(loss);
  if (failed(trained) || failed(checkOptimizers(loss, training, *trained)))
    return failure();
  FailureOr<PipelineCuts> cuts =
      cutPipeline(loss, training, shape, {devices, budgets, blocksOfChunks});
  if (failed(cuts))
    return failure();
  Pipeline pipeline;
  pipeline.loss = loss;
  pipeline.training = training;
  pipeline.shape = shape;
  pipeline.cuts = std::move(*cuts);
  pipeline.schedule = planning::makeSchedule(shape);
  pipeline.exchanges = planning::placeExchanges(shape, pipeline.schedule);
  findReaders(pipeline, *trained);
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    if (failed(buildStage(pipeline, stage)))
      return failure();
  describePipeline(pipeline, *trained);
  return success();
}
