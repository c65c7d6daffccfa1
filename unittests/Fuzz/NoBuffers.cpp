//===- NoBuffers.cpp - The fuzzer of token ids fills no step ----------------------===//
//
// A step's buffers need MLIR (lib/Execution/TokenFeedFill.cpp), without which the readers are
// fuzzed.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"
#include "llmmem/Execution/TokenFeed.h"

using namespace llmmem;

StepFeed::~StepFeed() = default;

void TokenFeed::fill(ModelBuffers &, int64_t) { fuzz::require(false); }
