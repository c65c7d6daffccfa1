//===- Optimizers.cpp - What an optimizer is -------------------------------===//

#include "Optimizers.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using States = SmallVector<OptimizerState>;

/// Returns whether its elements share scales, block by block.
static bool isInBlocks(const OptimizerState &state) {
  return state.type.getElementType().isInteger(8);
}

/// Returns what the optimizer keeps, and after it the master copy where there is one.
static States withMaster(llm::TrainingAttr training, RankedTensorType param, States states) {
  if (training.hasMaster(param.getElementType()))
    states.push_back({"master", param.clone(llm::wideTypeFor(param.getElementType()))});
  return states;
}

/// The factor already contains the clip.
static FloatAttr clipOf(OpBuilder &builder, llm::TrainingAttr training,
                        const UpdateOperands &operands) {
  return operands.factor ? builder.getF64FloatAttr(0.0) : training.getClipNorm();
}

/// Returns the types of an update's results.
static SmallVector<Type> resultTypes(const UpdateOperands &operands) {
  SmallVector<Type> types = {operands.param.getType()};
  llvm::append_range(types, TypeRange(ValueRange(operands.states)));
  return types;
}

namespace {

struct AdamW final : Optimizer {
  States statesOf(llm::TrainingAttr training, RankedTensorType param) const override {
    RankedTensorType moment = training.momentOf(param);
    States states = {{"first_moment", moment}, {"second_moment", moment}};
    if (isInBlocks(states[0])) {
      RankedTensorType scales =
          RankedTensorType::get({llm::AdamWOp::getNumBlocks(param.getNumElements())},
                                llm::wideTypeFor(param.getElementType()));
      states.append({{"first_moment.scales", scales}, {"second_moment.scales", scales}});
    }
    return withMaster(training, param, states);
  }

  Operation *createUpdate(OpBuilder &builder, Location loc, llm::TrainingAttr training,
                          const UpdateOperands &u) const override {
    bool hasScales = cast<RankedTensorType>(u.states[0].getType()).getElementType().isInteger(8);
    ArrayRef<Value> others = u.states.drop_front(2), scales = others.take_front(hasScales ? 2 : 0);
    Value master = others.size() > scales.size() ? others.back() : Value();
    return llm::AdamWOp::create(builder, loc, resultTypes(u), u.param, u.gradient, u.states[0],
                                u.states[1], u.learningRate, u.step, master, u.norm, u.factor,
                                scales, training.getBeta1(), training.getBeta2(), training.getEps(),
                                u.weightDecay, clipOf(builder, training, u), u.server);
  }
};

/// Keeps one momentum.
struct MomentumOptimizer : Optimizer {
  States statesOf(llm::TrainingAttr training, RankedTensorType param) const override {
    RankedTensorType wide = param.clone(llm::wideTypeFor(param.getElementType()));
    return withMaster(training, param, {{"momentum", wide}});
  }
};

struct SGD final : MomentumOptimizer {
  States statesOf(llm::TrainingAttr training, RankedTensorType param) const override {
    return training.momentumOrNone() > 0.0 ? MomentumOptimizer::statesOf(training, param)
                                           : withMaster(training, param, {});
  }

  Operation *createUpdate(OpBuilder &builder, Location loc, llm::TrainingAttr training,
                          const UpdateOperands &u) const override {
    return llm::SGDOp::create(builder, loc, u.param.getType(), TypeRange(ValueRange(u.states)),
                              u.param, u.gradient, u.learningRate, /*step=*/Value(), u.states,
                              u.norm, u.factor, builder.getF64FloatAttr(training.momentumOrNone()),
                              training.usesNesterov() ? builder.getUnitAttr() : UnitAttr(),
                              u.weightDecay, clipOf(builder, training, u), u.server);
  }
};

struct Lion final : MomentumOptimizer {
  Operation *createUpdate(OpBuilder &builder, Location loc, llm::TrainingAttr training,
                          const UpdateOperands &u) const override {
    return llm::LionOp::create(builder, loc, u.param.getType(), TypeRange(ValueRange(u.states)),
                               u.param, u.gradient, u.learningRate, /*step=*/Value(), u.states,
                               u.norm, u.factor, training.getBeta1(), training.getBeta2(),
                               u.weightDecay, clipOf(builder, training, u), u.server);
  }
};

struct Adafactor final : Optimizer {
  /// The state has n + m numbers for a matrix of n m elements.
  States statesOf(llm::TrainingAttr training, RankedTensorType param) const override {
    RankedTensorType wide = param.clone(llm::wideTypeFor(param.getElementType()));
    States states = {{"second_moment", wide}};
    if (param.getRank() == 2)
      states = {{"row_moment", wide.clone(param.getShape().take_front())},
                {"column_moment", wide.clone(param.getShape().take_back())}};
    return withMaster(training, param, states);
  }

  Operation *createUpdate(OpBuilder &builder, Location loc, llm::TrainingAttr training,
                          const UpdateOperands &u) const override {
    return llm::AdafactorOp::create(
        builder, loc, u.param.getType(), TypeRange(ValueRange(u.states)), u.param, u.gradient,
        u.learningRate, u.step, u.states, u.norm, u.factor,
        builder.getF64FloatAttr(training.beta2DecayOrUsual()), training.getEps(), u.weightDecay,
        clipOf(builder, training, u), u.server);
  }

  bool needsWhole() const override { return true; }
};

struct Muon final : MomentumOptimizer {
  Operation *createUpdate(OpBuilder &builder, Location loc, llm::TrainingAttr training,
                          const UpdateOperands &u) const override {
    return llm::MuonOp::create(builder, loc, u.param.getType(), TypeRange(ValueRange(u.states)),
                               u.param, u.gradient, u.learningRate, /*step=*/Value(), u.states,
                               u.norm, u.factor, builder.getF64FloatAttr(training.momentumOrNone()),
                               training.usesNesterov() ? builder.getUnitAttr() : UnitAttr(),
                               u.weightDecay, clipOf(builder, training, u), u.server);
  }

  bool needsWhole() const override { return true; }
};

} // namespace

//===----------------------------------------------------------------------===//
// Which one it is
//===----------------------------------------------------------------------===//

/// Returns whether all that reads it are projections of blocks, be it through a cast or through
/// what sums over ranks.
static bool multipliesInBlocks(Value weight) {
  return !weight.use_empty() && llvm::all_of(weight.getUses(), [](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (isa<llm::CastOp, llm::ReplicaOp>(reader))
      return multipliesInBlocks(reader->getResult(0));
    auto linear = dyn_cast<llm::LinearOp>(reader);
    return linear && linear.getWeight() == use.get() && linear->hasAttr(LlmDialect::kBlock);
  });
}

static bool isMatrixOfBlock(BlockArgument parameter) {
  return cast<RankedTensorType>(parameter.getType()).getRank() == 2 &&
         multipliesInBlocks(parameter);
}

const Optimizer &llmmem::optimizerOf(llm::TrainingAttr training, BlockArgument parameter) {
  static const AdamW adamw;
  static const SGD sgd;
  static const Lion lion;
  static const Adafactor adafactor;
  static const Muon muon;
  switch (training.getOptimizer()) {
  case llm::OptimizerKind::AdamW:
    return adamw;
  case llm::OptimizerKind::SGD:
    return sgd;
  case llm::OptimizerKind::Lion:
    return lion;
  case llm::OptimizerKind::Adafactor:
    return adafactor;
  case llm::OptimizerKind::Muon:
    break;
  }
  return isMatrixOfBlock(parameter) ? static_cast<const Optimizer &>(muon) : adamw;
}

LogicalResult llmmem::checkOptimizers(func::FuncOp loss, llm::TrainingAttr training,
                                      ArrayRef<unsigned> parameterNumbers) {
  for (unsigned number : parameterNumbers) {
    BlockArgument parameter = loss.getArgument(number);
    auto sharing = loss.getArgAttrOfType<llm::DataParallelAttr>(number, LlmDialect::kDataParallel);
    bool isPart = loss.getArgAttr(number, LlmDialect::kSharding) ||
                  (sharing && (sharing.getZero() > 0 || sharing.getServer()));
    if (!isPart)
      continue;
    const Optimizer &optimizer = optimizerOf(training, parameter);
    if (llvm::any_of(optimizer.statesOf(training, cast<RankedTensorType>(parameter.getType())),
                     isInBlocks))
      return emitError(parameter.getLoc())
             << "parameter '" << getName(parameter) << "' is split over ranks, and the blocks of "
             << "its optimizer's state in 8 bits are those of the whole; share the batch alone "
                "(--mesh=dp=... with --zero=0), or import with --optimizer-state f32 or bf16";
    if (optimizer.needsWhole())
      return emitError(parameter.getLoc())
             << "parameter '" << getName(parameter) << "' is split over ranks, and "
             << llm::stringifyOptimizerKind(training.getOptimizer())
             << " reads its whole rows and columns; share the batch alone (--mesh=dp=... with "
                "--zero=0), or take adamw, lion or sgd";
  }
  return success();
}
