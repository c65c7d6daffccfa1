//===- Targets.cpp - What CPUs, GPUs and their libraries need in a plan ----===//

#include "llmmem/Targets/Targets.h"
#include "llmmem/Dialect/TargetInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "llmmem/Targets/LatentParts.h"
#include "llmmem/Targets/LibraryEpilogue.h"
#include "llmmem/Targets/LossHeadWorkspace.h"
#include "llmmem/Targets/SplitSums.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {
class Targets : public TargetInterface {
public:
  using TargetInterface::TargetInterface;

  std::optional<LibraryCall> getLibraryCall(KernelOp kernel) const override {
    if (libraryEpilogueOf(kernel))
      return LibraryCall{SumRowsOp()};
    if (std::optional<LibrarySum> sum = librarySumOf(kernel))
      return LibraryCall{sum->sum};
    return std::nullopt;
  }

  int64_t getLossHeadWorkspaceBytes(LossHeadOp head) const override {
    return lossHeadWorkspace(head).end;
  }

  int64_t getSumPartsBytes(LinearWeightGradOp op) const override { return sumPartsBytes(op); }

  int64_t getLatentPartsBytes(LatentAttentionOp op) const override { return latentPartsBytes(op); }

  /// It reads the parts, and what they are added to.
  std::optional<KernelCost> getSumPartsKernel(Operation *op) const override {
    if (auto attention = dyn_cast<LatentAttentionOp>(op))
      return addedLatentParts(attention);
    auto gradient = dyn_cast<LinearWeightGradOp>(op);
    Count parts = gradient ? sumPartsBytes(gradient) : 0;
    if (parts == 0)
      return std::nullopt;
    Count ends = Count(bytesOfType(gradient.getDw().getType())) * (gradient.getInto() ? 2 : 1);
    return KernelCost{parts / 4, parts + ends};
  }

private:
  /// An element is a factor times one element of a part, and a sum.
  static std::optional<KernelCost> addedLatentParts(LatentAttentionOp op) {
    int64_t ofLaunch = latentPartsBytes(op);
    if (ofLaunch == 0)
      return std::nullopt;
    int64_t launches = op.getPositions().getType().getNumElements() / latentPartsOf(op)->tokens;
    Count parts = Count(ofLaunch) * launches;
    return KernelCost{parts / 2, parts + Count(bytesOfType(op.getOut().getType()))};
  }
};
} // namespace

void llmmem::registerTargets(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, LlmDialect *dialect) { dialect->addInterfaces<Targets>(); });
}
