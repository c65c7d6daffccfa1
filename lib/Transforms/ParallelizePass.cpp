//===- ParallelizePass.cpp - @loss becomes that of one rank ----------------===//

#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_PARALLELIZE
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

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
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!loss) {
      emitError(module.getLoc(), "has no function @loss to split over ranks; a step that is "
                                 "differentiated already cannot be: start from the imported model");
      return signalPassFailure();
    }
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
    if (failed(parallelize(loss, makeMesh(*axes, &getContext()),
                           {zero, sequenceParallel, *bytes, *server})))
      signalPassFailure();
  }
};
} // namespace
