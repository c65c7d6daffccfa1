//===- TokenFeedFill.cpp - Tokens, written into the arguments of a step ----===//
//
// This stands apart from TokenFeed.cpp because a step's buffers need MLIR, and the readers of
// tokens, which are fuzzed without it, do not.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Execution/ModelBuffers.h"
#include "llmmem/Execution/TokenFeed.h"

using namespace llmmem;

void TokenFeed::fill(ModelBuffers &buffers, int64_t number) {
  const StepRoles &roles = buffers.argumentRoles();
  auto tokens = [&](std::optional<unsigned> argument) {
    return argument ? buffers.integers(*argument) : llvm::MutableArrayRef<int32_t>();
  };
  seek(number);
  next({tokens(roles.ids), tokens(roles.targets), tokens(roles.labels), tokens(roles.positions)});
}
