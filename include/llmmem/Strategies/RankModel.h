//===- RankModel.h - What one rank runs and holds, by parts of the model ---===//
//
// The passes that make a rank's step (parallelize, split-micro-batches, differentiate, and the next
// ones) run on a model of three blocks. The result is read in parts: what precedes the blocks, one
// block, and what follows them. For n blocks on one rank,
//
//   time  = first + n * block + last       each op once, modelled ns
//   bytes = the same sum of resident bytes, and the bytes that the options of the blocks keep
//           (Planning/Schedulers/RepeatedBlocks.h)
//
// The sums are exact: ops, sizes and prices of a block do not depend on the number of blocks
// (`countEqualBlocks`). Work that reads all parameters at once, such as the norm of all gradients,
// is `shared`; it grows by the same amount with each block.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_RANKMODEL_H
#define LLMMEM_STRATEGIES_RANKMODEL_H

#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Schedulers/RepeatedBlocks.h"
#include "llmmem/Strategies/Layouts.h"
#include "llmmem/Strategies/Strategy.h"
#include "llmmem/Transforms/StateOnHost.h"
#include "llmmem/Transforms/StepVariants.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmmem {

/// Describes the part of a strategy that decides the program of a rank, except for its number of
/// blocks.
struct RankShape {
  int64_t dp = 1, tp = 1, ep = 1, cp = 1;
  int64_t zeroStage = 0;
  bool sequenceParallel = false;
  int64_t microBatches = 1;
  uint32_t whole = 0;       // Holds the groups of parameters that tp leaves unsharded.
  bool accumulates = false; // The step runs forward and backward for each micro-batch, and then the
                            // update.

  static RankShape of(const Strategy &strategy);
  auto operator<=>(const RankShape &other) const = default;
};

/// Says how a rank's step is made and planned. Everything else has the defaults of the passes.
struct StepSettings {
  CheckpointRequest request;
  bool groupsLossHead = true;
  std::optional<ChunkRequest> mlpChunk; // Groups feed-forwards to run in such chunks.
  bool groupsKernels = true;
  bool usesLibrary = false;
  std::vector<LayoutGroup> groups; // Lists the groups that a shape may leave unsharded.
  /// Prices the host copies, where state lies on the host, with or without the parameters
  /// (StateOnHost.h).
  std::optional<planning::HostLink> host;
  HostRoles onHost = {.optimizerState = true, .parameters = true}; // With `host`: what lies there.
  int64_t bucketBytes = 0; // The size of the gradients that share a collective (Parallelize.h).
};

/// Holds the modelled ns of one run of each op of a part, and the part's bytes. Collectives that
/// overlap compute count by what compute waits for them (ExposedCosts.h).
struct PartModel {
  int64_t forward = 0, backward = 0; // For one micro-batch.
  int64_t weights = 0;               // The part of the backward that no other part waits for.
  int64_t update = 0;                // Counted once per step.
  int64_t products = 0;              // The time of matmuls alone, within forward and backward.
  int64_t residentBytes = 0;         // Includes the alignment of allocations.
  // Holds the work of each resource, whatever overlaps it: for a micro-batch, and once per step.
  // Without overlap all of it belongs to compute.
  int64_t compute = 0, link = 0;
  int64_t updateCompute = 0, updateLink = 0;

  /// Returns a proved bound: `microBatches` runs and the update take no less.
  int64_t leastTime(int64_t microBatches) const;
  PartModel &operator+=(const PartModel &other);
  PartModel operator*(int64_t times) const;
};

/// This is one variant of the step: a choice of epilogues and a chunk of the loss.
struct RankStepVariant {
  PartModel first, block, last;
  PartModel tied; // Holds what the parts before and after the blocks share; each of their ranks has
                  // it.
  planning::Problem problem; // The problem of three blocks.
};

class RankModel {
public:
  /// Makes and models the step of a rank of `shape`. `few` holds the @loss of three blocks and is
  /// not changed. The error says why the passes refuse the shape.
  static llvm::Expected<RankModel> make(mlir::ModuleOp few, const RankShape &shape,
                                        const StepSettings &settings, const DeviceModel &device);

  /// Returns the part of `stretch` with each op once, in the cheapest choice.
  PartModel once(const planning::BlockStretch &stretch) const;
  /// Returns the least work of each resource in `stretch` over all choices. No other field is set.
  PartModel leastWork(const planning::BlockStretch &stretch) const;
  /// Returns the ns of a step with each op once, in the choice that has the least.
  int64_t leastModelled(const planning::BlockStretch &stretch, int64_t microBatches) const;
  /// Returns the ns of the matmuls of a micro-batch, in the choice that has the least.
  int64_t leastProducts(const planning::BlockStretch &stretch) const;
  int64_t residentBytes(const planning::BlockStretch &stretch) const;
  /// Returns the bytes of parameters, their states and gradients, without inputs.
  int64_t ownBytes(const planning::BlockStretch &stretch) const {
    return residentBytes(stretch) - inputBytes;
  }
  /// Returns the number of ops of a step of that many blocks.
  int64_t countOps(int64_t numBlocks) const;
  /// Returns a proved bound: no plan of the stretch has a smaller footprint.
  int64_t leastBytes(const planning::BlockStretch &stretch) const;
  /// Returns the bytes of an activation between two blocks.
  int64_t messageBytes() const { return crossingBytes; }
  /// Return the bytes of each gradient that the parts before and after the blocks share
  /// (`RankStepVariant::tied`).
  llvm::ArrayRef<int64_t> tiedGradients() const { return tiedBytes; }

  struct Plan {
    PartModel once;
    planning::StretchPlan plan;
  };
  /// Returns the cheapest choice and options under `budget`, resident bytes included, or nothing
  /// where none fit.
  std::optional<Plan> under(planning::BlockStretch stretch, int64_t budget);
  /// Returns the fewest bytes over all choices and options.
  int64_t leastFound(planning::BlockStretch stretch);

private:
  const planning::RepeatedBlocks *blocksOf(size_t choice);
  PartModel once(const RankStepVariant &choice, const planning::BlockStretch &stretch) const;

  std::vector<RankStepVariant> choices; // Has at least one element.
  std::vector<std::optional<planning::RepeatedBlocks>> blocks;
  std::vector<bool> known;            // Has an element for each of `blocks`.
  int64_t inputBytes = 0;             // The same on every rank.
  int64_t largestOp = 0;              // The most bytes that one op needs in addition to the
                                      // resident ones.
  int64_t updateBytes = 0;            // What a separate update needs in addition to the resident
                                      // bytes.
  int64_t shared = 0, sharedStep = 0; // The ns of a step of three blocks, and what each further
                                      // block adds.
  bool hasOverlap = false;            // Makes `shared` no bound.
  int64_t crossingBytes = 0;
  std::vector<int64_t> tiedBytes;

  friend class RankModelReader;
};

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_RANKMODEL_H
