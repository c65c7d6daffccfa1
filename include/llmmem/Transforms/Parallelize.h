//===- Parallelize.h - One program for all ranks of a mesh -----------------===//
//
// `parallelize` turns the forward function of a whole batch into the one that each rank runs on its
// shards; `differentiate` then makes the training step of a rank from it (docs/Design/Ranks.md says
// why in this order, and what gradients mean).
//
// Data parallel over the axis `dp` of n ranks:
//
//   inputs       their first dimension, the batch, is split: a rank has batch / n
//   loss         the mean over the valid targets of the whole batch, on every rank
//   dropout      keyed by the global element, so n does not change which are dropped
//   gradients    summed over dp before clipping and update
//
// With a ZeRO stage (Rajbhandari et al. 2020) each rank also owns 1 / n of every parameter, or of
// its shard over tp:
//
//   0   nothing                  gradients by all_reduce
//   1   the optimizer's state    reduce_scatter of gradients, all_gather of updated parameters
//   2   and the gradients        the same, as each gradient is there
//   3   and the parameters       all_gather before the first use, which a plan may repeat
//
// Values of few bytes share a collective, a bucket: gradients that the backward ends one after
// another, updated parameters of one such bucket, parameters of one block that are gathered.
//
// A parameter's part is an equal share of its elements in row-major order: rows, where n divides
// the first dimension. Example, n = 2: 768x3072 is 384x3072; 50257x768 is 1x19298688.
//
// Expert parallel over the axis `ep`, whose ranks are neighbours among those that have parts of the
// batch: dp = 4, ep = 2 are 8 ranks with an eighth of the batch each. Each rank of ep has so many
// of a mixture's experts, and what follows from them (Lepikhin et al. 2020):
//
//   experts      weights, gradients and state of experts / ep; their gradients are summed over dp
//   tokens       llm.all_to_all over ep brings the rows of an expert to its rank, and back
//   all else     what it is over dp: summed over dp and ep, and in ZeRO's parts over both
//
// Tensor parallel over the axis `tp` (Shoeybi et al. 2019): a product is split along its outputs
// where what follows can run on parts of them, up to a product that sums over them, or the loss;
// attention is split by heads, tables by their rows. With sequence parallelism (Korthikanti et al.
// 2022) what lies between is split along the sequence:
//
//                without                                 with
//   x            equal on all ranks of tp                its positions
//   before       llm.replica                             llm.all_gather
//   after        llm.all_reduce                          llm.reduce_scatter
//
// Context parallel over the axis `cp` of n ranks: every input of tokens is split along its sequence
// too, and so is what follows from it. What needs all positions of a sequence, such as attention
// and the rotation before it, has all of them of 1 / n of the heads: an all_to_all exchanges
// positions for heads, and another one goes back (Jacobs et al. 2023). Parameters are copies, as
// over dp: gradients are summed over dp and cp together, and a ZeRO stage splits over both.
//
//                 between attention               in attention
//   tokens        1 / n of each sequence          all
//   heads         all                             1 / n
//
// A step of inference (`ParallelStrategy::inference`) is split over tp alone, in the same way but
// for what only gradients need:
//
//   caches       their last dimension, key/value heads, as the products of keys and values are
//   results      whole on every rank, so that each chooses the same token; logits of a split
//                vocabulary are gathered. Caches stay a rank's.
//
// Example: of Llama-3-8B over tp = 4 a rank has 2 of 8 key/value heads, so a cache of
// 16x8192x1024 is 16x8192x256.
//
// Shardings that arguments or ops have already (`llm.sharding`) are taken as given.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PARALLELIZE_H
#define LLMMEM_TRANSFORMS_PARALLELIZE_H

#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace llmmem {

inline constexpr llvm::StringLiteral kDataParallelAxis = "dp";
inline constexpr llvm::StringLiteral kTensorParallelAxis = "tp";
/// Splits the batch as dp does, and experts.
inline constexpr llvm::StringLiteral kExpertParallelAxis = "ep";
inline constexpr llvm::StringLiteral kContextParallelAxis = "cp";

struct MeshAxis {
  std::string name;
  int64_t size = 1; // ranks
};

/// Over h100's link a sum over 8 ranks that shares another's messages saves 30 us, in which 25 MB
/// are copied into a bucket and out of it: from there on a sum of its own is as fast
/// (docs/Design/Ranks.md, "Buckets").
inline constexpr int64_t kBucketBytes = 25'000'000;

struct ParallelStrategy {
  int64_t zeroStage = 0;
  bool sequenceParallel = false;
  /// Values of together at most so many bytes share a collective over dp; 0: each has its own. A
  /// constant of the strategy: over libraries that sum by themselves it decides bits.
  int64_t bucketBytes = kBucketBytes;
  /// Position 0 of dp alone has the optimizer's state: gradients are reduced to it, and what it
  /// updates is broadcast. Not with a ZeRO stage or pp.
  bool server = false;
  /// Says that the function has no gradients: it is no loss, and ranks return what the whole
  /// returns.
  bool inference = false;
};

/// Reads `dp=2,tp=4`. The error says what is wrong with the text.
llvm::Expected<llvm::SmallVector<MeshAxis>> parseMesh(llvm::StringRef text);
/// Reads `25MB`, `1000000`, or `0`.
llvm::Expected<int64_t> parseBucketBytes(llvm::StringRef text);
/// Reads `all-reduce` or `server`; returns whether it is the latter.
llvm::Expected<bool> parseDataParallel(llvm::StringRef text);
/// Returns the number of experts of a forward's mixtures, or what divides the number of each; 0
/// where there is none. ep splits them where it divides that.
int64_t countExperts(mlir::func::FuncOp loss);
llm::MeshAttr makeMesh(llvm::ArrayRef<MeshAxis> axes, mlir::MLIRContext *context);

/// Makes `loss` the function of one rank. Fails, after a located diagnostic that names the fix, at
/// a batch, a parameter or heads that the ranks do not divide, at an op that no rule covers, and at
/// a step of inference over another axis than tp, or one that is planned already. A vocabulary is
/// padded.
llvm::LogicalResult parallelize(mlir::func::FuncOp loss, llm::MeshAttr mesh,
                                const ParallelStrategy &strategy);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_PARALLELIZE_H
