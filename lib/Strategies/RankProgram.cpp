//===- RankProgram.cpp - The functions that one rank runs ------------------===//

#include "llmmem/Strategies/RankProgram.h"
#include "llmmem/Transforms/Differentiation.h"
#include "llmmem/Transforms/GroupFeedForward.h"
#include "llmmem/Transforms/GroupKernels.h"
#include "llmmem/Transforms/GroupLossHead.h"
#include "llmmem/Transforms/MicroBatches.h"
#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/ReserveLibraryWorkspace.h"
#include "llmmem/Transforms/TiledPasses.h"

using namespace mlir;
using namespace llmmem;

DiagnosticText::DiagnosticText(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (text.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
          text = diagnostic.str();
        return success();
      }) {}

RankShape RankShape::of(const Strategy &strategy) {
  return {strategy.dp,           strategy.tp,        strategy.ep,
          strategy.cp,           strategy.zeroStage, strategy.sequenceParallel,
          strategy.microBatches, strategy.whole,     strategy.pp > 1 || strategy.microBatches > 1};
}

static LogicalResult splitOverRanks(func::FuncOp loss, const RankShape &shape,
                                    int64_t bucketBytes) {
  SmallVector<MeshAxis> axes;
  if (shape.dp > 1)
    axes.push_back({kDataParallelAxis.str(), shape.dp});
  if (shape.ep > 1)
    axes.push_back({kExpertParallelAxis.str(), shape.ep});
  if (shape.cp > 1)
    axes.push_back({kContextParallelAxis.str(), shape.cp});
  if (shape.tp > 1)
    axes.push_back({kTensorParallelAxis.str(), shape.tp});
  if (!axes.empty() && failed(parallelize(loss, makeMesh(axes, loss.getContext()),
                                          {shape.zeroStage, shape.sequenceParallel, bucketBytes})))
    return failure();
  return shape.accumulates ? splitMicroBatches(loss, shape.microBatches) : success();
}

/// Replaces @loss by @step, and by @update if there is one.
static LogicalResult makeTrainingStep(RankProgram &program, const RankShape &shape,
                                      const StepSettings &settings) {
  auto loss = program.module->lookupSymbol<func::FuncOp>("loss");
  auto training =
      program.module->getOperation()->getAttrOfType<llm::TrainingAttr>(llm::LlmDialect::kTraining);
  keepWhole(loss, settings.groups, shape.whole);
  if (failed(splitOverRanks(loss, shape, settings.bucketBytes)))
    return failure();
  FailureOr<func::FuncOp> step = buildTrainingStep(loss, training);
  if (failed(step))
    return failure();
  loss.erase();
  program.step = *step;
  program.update = program.module->lookupSymbol<func::FuncOp>(kUpdateFunction);
  return success();
}

FailureOr<RankProgram> llmmem::buildRankProgram(ModuleOp model, const RankShape &shape,
                                                const StepSettings &settings,
                                                const DeviceModel &device) {
  RankProgram program;
  program.module = model.clone();
  if (program.module->lookupSymbol("loss")) {
    if (failed(makeTrainingStep(program, shape, settings)))
      return failure();
  } else { // A step of inference runs as it is written.
    program.step = *program.module->getOps<func::FuncOp>().begin();
  }
  for (func::FuncOp function : {program.step, program.update}) {
    if (!function)
      continue;
    if (settings.groupsLossHead)
      groupLossHeads(function, GroupLossHeadOptions().granule);
    if (settings.mlpChunk)
      groupFeedForwards(function, *settings.mlpChunk, GroupFeedForwardOptions().granule);
    if (settings.host && failed(moveStateToHost(function, *settings.host, settings.onHost)))
      return failure();
    if (settings.groupsKernels)
      groupKernels(function);
    if (settings.usesLibrary)
      reserveLibraryWorkspace(function, device);
  }
  return program;
}
