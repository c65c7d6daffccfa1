//===- ParallelizePass.cpp - A model becomes that of one rank --------------===//

#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_PARALLELIZE
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// Holds the names that llmmem-import gives to steps that have no gradients.
static constexpr llvm::StringLiteral kInference[] = {"decode", "prefill", "forward"};

/// Returns the function to split: @loss, or else the one step of inference. Returns null after a
/// diagnostic.
static func::FuncOp findModel(ModuleOp module) {
  if (auto loss = module.lookupSymbol<func::FuncOp>("loss"))
    return loss;
  func::FuncOp found;
  for (StringRef name : kInference)
    if (auto step = module.lookupSymbol<func::FuncOp>(name)) {
      if (found) {
        emitError(step.getLoc()) << "stands next to @" << found.getName()
                                 << ", and one step of inference is split at a time; give each a "
                                    "file of its own, as llmmem-import writes them";
        return {};
      }
      found = step;
    }
  if (!found)
    emitError(
        module.getLoc(),
        "has no function to split over ranks, expected @loss of a model to train, or @decode, "
        "@prefill or @forward of one to run; a step that is differentiated already cannot be: "
        "start from what llmmem-import writes");
  return found;
}

namespace {
struct ParallelizePass : llmmem::impl::ParallelizeBase<ParallelizePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<SmallVector<MeshAxis>> axes = parseMesh(mesh);
    if (!axes) {
      emitError(module.getLoc()) << "mesh: " << llvm::toString(axes.takeError());
      return signalPassFailure();
    }
    func::FuncOp model = findModel(module);
    if (!model || failed(checkSizes(model, SizeLimit::BytesOfEach)))
      return signalPassFailure();
    llvm::Expected<int64_t> bytes = parseBucketBytes(bucketBytes);
    if (!bytes) {
      emitError(module.getLoc()) << "bucket-bytes: " << llvm::toString(bytes.takeError());
      return signalPassFailure();
    }
    llvm::Expected<bool> server = parseDataParallel(dataParallel);
    if (!server) {
      emitError(module.getLoc()) << "data-parallel: " << llvm::toString(server.takeError());
      return signalPassFailure();
    }
    ParallelStrategy strategy{zero, sequenceParallel, *bytes, *server,
                              /*inference=*/model.getName() != "loss"};
    if (failed(parallelize(model, makeMesh(*axes, &getContext()), strategy)))
      signalPassFailure();
  }
};
} // namespace
