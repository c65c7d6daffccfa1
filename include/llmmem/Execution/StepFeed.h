//===- StepFeed.h - What fills a step's data -------------------*- C++ -*-===//

#ifndef LLMMEM_EXECUTION_STEPFEED_H
#define LLMMEM_EXECUTION_STEPFEED_H

#include <cstdint>
#include <string>

namespace llmmem {

class ModelBuffers;

/// Batches of tokens or of images, each a function of the number of its step alone, so that a run
/// that is resumed reads what it would have read.
class StepFeed {
public:
  virtual ~StepFeed();
  /// Fills what the step reads of the batch of step `number`, from 0. A stage of a pipeline reads
  /// what its own ops need.
  virtual void fill(ModelBuffers &buffers, int64_t number) = 0;
  /// From now on rows are sampled uniformly from (`seed`, the number of the step).
  virtual void shuffle(uint64_t seed) = 0;
  /// Tokens or images of a step of all ranks.
  virtual int64_t size() const = 0;
  /// The hash of all that batches are taken from: equal where all batches are.
  virtual std::string contentsHash() const = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPFEED_H
