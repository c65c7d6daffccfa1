//===- PointText.h - The numbers of a plan as people read them ----*- C++ -*-===//

#ifndef LLMMEM_LIB_FIT_POINTTEXT_H
#define LLMMEM_LIB_FIT_POINTTEXT_H

#include "llmmem/Fit/Fit.h"

namespace llmmem {

/// Returns the tokens of all sequences that a second of steps handles.
int64_t tokensPerSecond(const FitPoint &point);

/// Returns how much longer the step takes than without a budget.
double slowdownPercent(const FitPoint &point);

/// Returns what follows times of this device: those of a datasheet are never exceeded, so that a
/// time is a bound.
llvm::StringRef boundText(const FitModel &model);

/// Says how products by weights in fewer bits are priced where that is slower than by bf16, since
/// their bytes are few and their time is not; else nothing.
std::string heldPriceText(const importer::HeldFormat &weights, const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_LIB_FIT_POINTTEXT_H
