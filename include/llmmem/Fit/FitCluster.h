//===- FitCluster.h - Does a model train on several cards --------------------===//
//
// Answers for several cards of one node what Fit.h answers for one: with which batch, by which mesh
// and ZeRO stage, how fast. The search is that of `--mesh=auto`, over data and tensor parallel
// ranks without micro-batches; the mesh that is reported is planned as a whole.
//
// Example: Llama-3-8B on eight H100s with a batch of 8 sequences of 4,096 tokens:
// `--mesh=dp=4,tp=2 --zero=1 --sequence-parallel`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_FIT_FITCLUSTER_H
#define LLMMEM_FIT_FITCLUSTER_H

#include "llmmem/Fit/Fit.h"
#include "llmmem/Strategies/Strategy.h"

namespace llmmem {

/// Describes the step of a batch that all cards share. The bytes and the time of the point are
/// those of one card.
struct ClusterPoint {
  Strategy strategy;
  FitPoint point;
  bool isPlanned = false; // As a whole; else the numbers are modelled from equal blocks.
};

struct ClusterAnswer {
  FitAnswer common; // Its points are those of the fastest batch.
  ClusterPoint fastest;
  std::vector<ClusterPoint> batches; // In increasing order; those with a plan.
};

/// Returns the best mesh for a batch of all cards, planned as a whole. Its point does not fit where
/// none was found.
llvm::Expected<ClusterPoint> bestMesh(const FitModel &model, const Card &card, int64_t batch,
                                      int64_t seq);

/// Answers for the cards of `card`, whose number is more than 1. The model's device is that of the
/// topology.
llvm::Expected<ClusterAnswer> fitCluster(FitModel &model, const Card &card,
                                         const FitRequest &request);

/// Print for people and for programs (docs/Design/Reports.md).
void printFit(const FitModel &model, const ClusterAnswer &answer, llvm::raw_ostream &os);
llvm::json::Value toJson(const FitModel &model, const ClusterAnswer &answer);

} // namespace llmmem

#endif // LLMMEM_FIT_FITCLUSTER_H
