//===- PointText.cpp - The numbers of a plan as people read them ------------===//

#include "PointText.h"
#include "FastestBatch.h"
#include "llmmem/Support/NumberText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;

int64_t llmmem::tokensPerSecond(const FitPoint &point) {
  return static_cast<int64_t>(1e9 * tokensPerNs(point));
}

double llmmem::slowdownPercent(const FitPoint &point) {
  return 100.0 * (static_cast<double>(point.ns) /
                      static_cast<double>(std::max<int64_t>(point.withoutBudgetNs, 1)) -
                  1.0);
}

llvm::StringRef llmmem::boundText(const FitModel &model) {
  return model.device().isMeasured() ? "" : " at most (datasheet)";
}

std::string llmmem::heldPriceText(const importer::HeldFormat &weights, const DeviceModel &device) {
  NumberFormat numbers = NumberFormat::F8;
  if (weights.kind == importer::HeldKind::Int4)
    numbers = NumberFormat::I4;
  if (weights.kind == importer::HeldKind::Int8)
    numbers = NumberFormat::I8;
  const int64_t held = device.flopsPerNs(numbers), whole = device.flopsPerNs(NumberFormat::BF16);
  if (held >= whole)
    return "";
  return llvm::formatv("price      products by {0} weights have {1} FLOPs a ns, those by bf16 {2}: "
                       "kernels unpack each element to f32\n           and multiply without tensor "
                       "cores (docs/Design/FewerBits.md), so fewer bits take more time\n",
                       weights.text(), formatCount(held), formatCount(whole));
}
