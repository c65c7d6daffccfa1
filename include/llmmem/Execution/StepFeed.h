//===- StepFeed.h - What fills a step's data -------------------*- C++ -*-===//

#ifndef LLMMEM_EXECUTION_STEPFEED_H
#define LLMMEM_EXECUTION_STEPFEED_H

#include <cstdint>
#include <string>

namespace llmmem {

class ModelBuffers;

/// Feeds batches of tokens or of images. Each is a function of the number of its step alone, so a
/// resumed run reads what it would have read.
class StepFeed {
public:
  virtual ~StepFeed();
  /// Fills what the step reads from the batch of step `number`, counted from 0. A stage of a
  /// pipeline reads what its own ops need.
  virtual void fill(ModelBuffers &buffers, int64_t number) = 0;
  /// From now on samples rows uniformly from (`seed`, the number of the step).
  virtual void shuffle(uint64_t seed) = 0;
  /// Returns the tokens or images of a step of all ranks.
  virtual int64_t size() const = 0;
  /// Returns a hash of everything that batches are taken from. Equal hashes mean equal batches.
  virtual std::string contentsHash() const = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPFEED_H
