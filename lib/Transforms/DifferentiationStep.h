//===- DifferentiationStep.h - What the parts of the step builder share ----===//

#ifndef LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H
#define LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H

#include "Optimizers.h"
#include "llmmem/Transforms/Differentiation.h"

namespace llmmem::llm {
class ReplicaOp;
} // namespace llmmem::llm

namespace llmmem {

/// Holds what an update gives.
struct UpdatedParameter {
  mlir::Value argument;
  llvm::SmallVector<mlir::Value> states;
};

/// Is a parameter of the step, with what its update reads and gives.
struct TrainedParameter {
  mlir::BlockArgument argument;
  const Optimizer *optimizer = nullptr;
  llvm::SmallVector<mlir::BlockArgument> states; // as the optimizer has them
  mlir::BlockArgument gradientArgument;          // null where gradients are transient
  /// Says how ranks share the parameter; null where there is one rank.
  llm::DataParallelAttr sharing;
  /// Names the axes over which micro-batches leave addends that are summed once after them
  /// (`findReplica`); null where each micro-batch gives the sum.
  mlir::ArrayAttr replicas;
  mlir::Value gradient;
  /// Is the gradient that its update reads: that of this rank's part, where its state is split.
  mlir::Value updatingGradient;
  UpdatedParameter updated;
  /// Says whether this stage counts the gradient in the norm of all: one of the stages that have
  /// the parameter does.
  bool countsInNorm = true;
  /// Is its place in the order in which the backward ends gradients, from 0.
  unsigned endsAt = 0;
  /// Parameters of equal numbers share collectives.
  unsigned bucket = 0;
};

/// Holds the scale of a loss and what it follows; all are null where the loss is not scaled.
struct LossScale {
  mlir::BlockArgument scale, good, updates; // as llm.adjust_loss_scale has them
  mlir::Value newScale, newGood, newUpdates;

  explicit operator bool() const { return static_cast<bool>(scale); }
};

/// Holds the arguments that all updates read.
struct UpdateInputs {
  mlir::BlockArgument learningRate, step;
  LossScale lossScale;
  /// Names the axis whose ranks have other parameters, which the norm of all gradients is over too;
  /// null where there is none.
  mlir::ArrayAttr stages;
};

/// Returns the numbers of the parameters that a loss is to be trained by. Fails, after a located
/// diagnostic, where no step can be made of it.
llvm::FailureOr<llvm::SmallVector<unsigned>> checkLoss(mlir::func::FuncOp loss);

/// Says which part of a whole an argument of a step is.
struct ArgumentShard {
  llm::ShardingAttr sharding; // null where no dimension is split
  mlir::ArrayAttr parts;      // the axes of its parts in row-major order, or null
  mlir::Type whole;
  mlir::ArrayAttr server = {}; // the axes of whose position 0 alone has it, or null
};

/// Builds the signature of a step: what an optimizer adds to the arguments of a loss, and the
/// results.
class StepSignature {
public:
  StepSignature(mlir::func::FuncOp step, llm::TrainingAttr training);

  /// Adds the learning rate, of the type of the loss, and the number of the step; where the loss is
  /// scaled, its scale and two counts of steps; then of each parameter its state, and its gradient
  /// where gradients are resident. `ofLoss` are the parameters as the loss reads them, which says
  /// whose optimizer they are.
  void addArguments(llvm::ArrayRef<unsigned> parameterNumbers, mlir::RankedTensorType loss,
                    llvm::ArrayRef<mlir::BlockArgument> ofLoss);
  /// Returns the loss, if there is one, new parameters, states and gradients, which are donated
  /// where they are not the arguments as they were, and `others`.
  void finish(mlir::Value loss, mlir::ValueRange others);

  /// Creates an empty function with the same arguments after it.
  mlir::func::FuncOp cloneWithoutBody(llvm::StringRef name);
  /// Takes the arguments of a function that has the same ones. Gradients are what their arguments
  /// hold.
  void takeArgumentsOf(const StepSignature &other);

  llvm::SmallVector<TrainedParameter> parameters;
  UpdateInputs inputs;

private:
  mlir::BlockArgument addArgument(mlir::Type type, const llvm::Twine &name, llm::Role role,
                                  ArgumentShard shard = {});
  void addLossScale(mlir::RankedTensorType loss);
  void addResult(mlir::Value value, mlir::BlockArgument donated);

  mlir::OpBuilder builder;
  llm::TrainingAttr training;
  mlir::func::FuncOp step;
  mlir::Block &body;
  llvm::SmallVector<mlir::DictionaryAttr> attributes; // of arguments
  llvm::SmallVector<mlir::Value> results;
};

/// Numbers parameters in the order in which the ops that end their gradients stand.
void orderGradients(llvm::MutableArrayRef<TrainedParameter> parameters);

/// Fills buckets in the order of `endsAt`: a gradient joins the last bucket of its axes, its ZeRO
/// stage and its type of elements, as long as that has no more than `bucketBytes` of the
/// parameter's `llm.data_parallel`; one of more bytes than that is alone.
void fillBuckets(llvm::MutableArrayRef<TrainedParameter> parameters);

/// Sums the gradients of parameters that ranks share, each bucket right after the op that ends its
/// last, and sets what their updates read (docs/Design/Ranks.md). A gradient that is resident and
/// split by ZeRO-2 is added to its argument there.
void shareGradients(llvm::MutableArrayRef<TrainedParameter> parameters);

/// Returns the axes of whose position 0 alone updates it; null where every rank does.
mlir::ArrayAttr serverOf(const TrainedParameter &parameter);

/// Returns whether the sum of its gradients goes on in the bytes of its argument from micro-batch
/// to micro-batch; else what a micro-batch adds is a value of its own.
bool accumulatesInPlace(const TrainedParameter &parameter);

/// Returns the one replica that a loss reads `argument` through. Its gradient is a rank's addend,
/// so those of micro-batches can be added up before ranks sum them. Returns null where there is
/// none, and where the gradient does not accumulate in place.
llm::ReplicaOp findReplica(const TrainedParameter &parameter, mlir::BlockArgument argument);

/// Takes in what a micro-batch gives, null where it gives nothing: the sum so far or, of those that
/// ZeRO-2 splits, an addend, which is summed over the ranks here, in buckets.
void addGradients(llvm::MutableArrayRef<TrainedParameter> parameters,
                  llvm::ArrayRef<mlir::Value> given);

/// Scatters the gradients of ZeRO-2 alone, which are split from one micro-batch to the next.
void scatterGradients(llvm::MutableArrayRef<TrainedParameter> parameters);

/// Does what `shareGradients` does, where micro-batches have left their sums in the arguments.
void finishGradients(llvm::MutableArrayRef<TrainedParameter> parameters);

/// Returns the norm of what all ranks have of the gradients, from the norm of this rank's.
mlir::Value combineNorms(mlir::OpBuilder &builder, mlir::Value norm, mlir::ArrayAttr axes);

/// Returns the axes that the gradient which `parameter`'s update reads is split over, in the mesh's
/// order.
mlir::ArrayAttr gradientAxes(const TrainedParameter &parameter);

/// Returns what the update of `parameter` reads as its parameter: this rank's part, where its state
/// is split and it is not.
mlir::Value takePart(mlir::OpBuilder &builder, const TrainedParameter &parameter);

/// Gathers the parameters of which ranks have updated their parts, each bucket after its last
/// update, and broadcasts those that a server has updated, in the bytes of the parameters. Requires
/// that `updated.argument` is the part, or what this rank has; sets it to the whole.
void giveUpdated(llvm::MutableArrayRef<TrainedParameter> parameters);

/// Returns whether no update may come before the norm of all gradients is known.
bool waitsForNorm(llm::TrainingAttr training);

/// Builds the update of each parameter in `block`, whose backward begins with `firstBackward`: at
/// its end, or, where gradients are transient and nothing waits for their norm, as early as each
/// can stand. Sets what is new of the scale of the loss.
void buildUpdates(mlir::Block &block, mlir::Operation *firstBackward, llm::TrainingAttr training,
                  UpdateInputs &inputs, llvm::MutableArrayRef<TrainedParameter> parameters);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_DIFFERENTIATIONSTEP_H
