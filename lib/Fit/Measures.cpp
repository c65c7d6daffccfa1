//===- Measures.cpp - What can be done against the bytes of a step ----------===//

#include "llmmem/Fit/FitModel.h"

using namespace llmmem;
using llm::GradientLifetime;
using planning::PolicyKind;

static constexpr Measure table[] = {
    {"nothing", PolicyKind::None, false, GradientLifetime::Resident},
    {"loss in chunks", PolicyKind::None, true, GradientLifetime::Resident},
    {"recomputation", PolicyKind::LeastPeak, false, GradientLifetime::Resident},
    {"both", PolicyKind::LeastPeak, true, GradientLifetime::Resident},
    {"both, and transient gradients", PolicyKind::LeastPeak, true, GradientLifetime::Transient},
};

llvm::ArrayRef<Measure> llmmem::measures() { return table; }
