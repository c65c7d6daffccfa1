//===- RankModel.h - What one rank runs and holds, by parts of the model ---===//
//
// The passes that make a rank's step (parallelize, split-micro-batches, differentiate, and what
// follows) run on a model of three blocks. What they give is read by parts: what stands before the
// blocks, a block, what stands behind. Of n blocks on one rank,
//
//   time  = first + n * block + last       each op once, modelled ns
//   bytes = the same sum of what is resident, and what the options of the blocks hold
//           (Planning/Schedulers/RepeatedBlocks.h)
//
// The sums are exact: ops, sizes and prices of a block do not depend on how many there are
// (`countEqualBlocks`). Work that reads all parameters at once, as the norm of all gradients, is
// `shared`; it grows by as much from each block to the next.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_RANKMODEL_H
#define LLMMEM_STRATEGIES_RANKMODEL_H

#include "llmmem/Planning/Offload/HostCopies.h"
#include "llmmem/Planning/Schedulers/RepeatedBlocks.h"
#include "llmmem/Strategies/Layouts.h"
#include "llmmem/Strategies/Strategy.h"
#include "llmmem/Transforms/StepAlternatives.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmmem {

/// What of a strategy decides the program of a rank, but for its number of blocks.
struct RankShape {
  int64_t dp = 1, tp = 1;
  int64_t zeroStage = 0;
  bool sequenceParallel = false;
  int64_t microBatches = 1;
  uint32_t whole = 0;       // groups of parameters that tp leaves whole
  bool accumulates = false; // a forward and backward for each micro-batch, and an update behind

  static RankShape of(const Strategy &strategy);
  auto operator<=>(const RankShape &other) const = default;
};

/// How a rank's step is made and planned; what is not here is as the passes have it.
struct StepSettings {
  CheckpointRequest request;
  bool groupsLossHead = true;
  bool groupsKernels = true;
  bool usesLibrary = false;
  std::vector<LayoutGroup> groups; // that a shape may leave whole
  /// What copies to the host move, where state and parameters lie there (StateOnHost.h).
  std::optional<planning::HostLink> host;
  int64_t bucketBytes = 0; // of gradients that share a collective (Parallelize.h)
};

/// Modelled ns of one run of each op of a part, and the part's bytes. Where collectives run beside
/// compute, they count with what compute waits for them (ExposedCosts.h).
struct PartModel {
  int64_t forward = 0, backward = 0; // of a micro-batch
  int64_t weights = 0;               // of the backward, what no other part waits for
  int64_t update = 0;                // once a step
  int64_t products = 0;              // of matmuls alone, within forward and backward
  int64_t residentBytes = 0;         // aligned, as they are allocated
  // What each resource does, whatever runs beside it: of a micro-batch, and once a step. Without
  // overlap all of it is compute's.
  int64_t compute = 0, link = 0;
  int64_t updateCompute = 0, updateLink = 0;

  /// Proved: `microBatches` of it and its update take no less.
  int64_t leastTime(int64_t microBatches) const;
  PartModel &operator+=(const PartModel &other);
  PartModel operator*(int64_t times) const;
};

/// One way to run the step: a choice of epilogues and a chunk of the loss.
struct StepChoice {
  PartModel first, block, last;
  PartModel tied; // of what stands before the blocks and of what stands behind: on either's rank
  planning::Problem problem; // of three blocks
};

class RankModel {
public:
  /// Makes and measures the step of a rank of `shape`. `few` holds the @loss of three blocks, and
  /// stays as it is. An error says why the passes refuse the shape.
  static llvm::Expected<RankModel> make(mlir::ModuleOp few, const RankShape &shape,
                                        const StepSettings &settings, const DeviceModel &device);

  /// Of `stretch` with each op once, in the cheapest choice.
  PartModel once(const planning::BlockStretch &stretch) const;
  /// The least that `stretch` gives each resource to do, of any choice; no other field is filled.
  PartModel leastWork(const planning::BlockStretch &stretch) const;
  /// ns of a step with each op once, in the choice that has the least.
  int64_t leastModelled(const planning::BlockStretch &stretch, int64_t microBatches) const;
  /// ns of the matmuls of a micro-batch, in the choice that has the least.
  int64_t leastProducts(const planning::BlockStretch &stretch) const;
  int64_t residentBytes(const planning::BlockStretch &stretch) const;
  /// Of parameters, their states and gradients: without inputs.
  int64_t ownBytes(const planning::BlockStretch &stretch) const {
    return residentBytes(stretch) - inputBytes;
  }
  /// Of a step of so many blocks.
  int64_t countOps(int64_t numBlocks) const;
  /// Proved: no plan of the stretch needs less.
  int64_t leastBytes(const planning::BlockStretch &stretch) const;
  /// Of an activation between two blocks.
  int64_t messageBytes() const { return crossingBytes; }
  /// Of each gradient of what stands before the blocks and behind them (`StepChoice::tied`).
  llvm::ArrayRef<int64_t> tiedGradients() const { return tiedBytes; }

  struct Plan {
    PartModel once;
    planning::StretchPlan plan;
  };
  /// The cheapest choice and options under `budget`, residents included; nothing where none fit.
  std::optional<Plan> under(planning::BlockStretch stretch, int64_t budget);
  /// The fewest bytes of any choice and options.
  int64_t leastFound(planning::BlockStretch stretch);

private:
  const planning::RepeatedBlocks *blocksOf(size_t choice);
  PartModel once(const StepChoice &choice, const planning::BlockStretch &stretch) const;

  std::vector<StepChoice> choices; // at least one
  std::vector<std::optional<planning::RepeatedBlocks>> blocks;
  std::vector<bool> known;            // of `blocks`
  int64_t inputBytes = 0;             // that every rank has
  int64_t largestOp = 0;              // bytes that one op needs beside the residents
  int64_t updateBytes = 0;            // of an update of its own, beside the residents
  int64_t shared = 0, sharedStep = 0; // ns of a step of three blocks, and from each to the next
  bool hasOverlap = false;            // `shared` is then no bound
  int64_t crossingBytes = 0;
  std::vector<int64_t> tiedBytes;

  friend class RankModelReader;
};

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_RANKMODEL_H
