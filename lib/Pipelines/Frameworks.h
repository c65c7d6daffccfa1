//===- Frameworks.h - The policies and flags of other frameworks ----------------===//
//
// A framework that runs a model elsewhere has fewer ways to recompute than a plan, and its own
// words for ranks and ZeRO. A row of the table says which policies of llmmem are those that it has,
// which strategies it has, and how it writes both.
//
// Example: for Megatron-LM, `selective=core_attn,mlp` is
// --recompute-granularity selective --recompute-modules core_attn mlp.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PIPELINES_FRAMEWORKS_H
#define LLMMEM_LIB_PIPELINES_FRAMEWORKS_H

#include "llmmem/Planning/Policies/Policies.h"
#include "llmmem/Strategies/Strategy.h"

namespace llmmem {

/// What is written: how a model runs over ranks, and what is recomputed.
struct FrameworkSetup {
  Strategy strategy;
  planning::Policy policy;
  int64_t batch = 0, sequence = 0; // sequences of an update over all ranks, and tokens of each
  int64_t blocks = 0;              // of the model

  /// Returns the sequences that a rank has in one micro-batch.
  int64_t microBatch() const { return batch / (strategy.dp * strategy.microBatches); }

  /// Returns the blocks of each chunk of a pipeline, which frameworks cut equally, or 0 where the
  /// blocks do not divide into the chunks.
  int64_t blocksOfChunk() const {
    const int64_t chunks = strategy.pp * strategy.chunks;
    return blocks % chunks == 0 ? blocks / chunks : 0;
  }
};

struct Framework {
  llvm::StringLiteral name;
  /// Returns the policies that it has for a program or stage of so many blocks, as flags.
  std::vector<std::string> (*policies)(int64_t blocks);
  /// Returns the strategy that it has and that is nearest.
  Strategy (*nearest)(Strategy strategy);
  /// Returns its flags or its file.
  std::string (*write)(const FrameworkSetup &setup);
  /// What a line of a comment begins with; empty where its file has none.
  llvm::StringLiteral comment;
};

/// Returns the framework of this name, or null.
const Framework *findFramework(llvm::StringRef name);

/// Returns "torchtitan, megatron, deepspeed or maxtext".
std::string frameworkNames();

} // namespace llmmem

#endif // LLMMEM_LIB_PIPELINES_FRAMEWORKS_H
