//===- Trainings.h - Ways to train a model, and their flags ------*- C++ -*-===//

#ifndef LLMMEM_LIB_FIT_TRAININGS_H
#define LLMMEM_LIB_FIT_TRAININGS_H

#include "llmmem/Fit/Fit.h"

namespace llmmem {

/// Lists the projections of the blocks by the last parts of their names: what adapters are for
/// where no targets are named. Example: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj,
/// down_proj.
std::vector<std::string> blockProjections(const importer::Model &model);

/// Returns the flags of llmmem-import that `options` stand for, each with a space before it; shape
/// and mode are not among them.
std::string importFlags(const importer::ImportOptions &options);

/// Returns the flags of llmmem-opt that put data on the host, and those of the step's form, each
/// with a space before it.
std::string hostFlags(const StepForm &form, const DeviceModel &device);
std::string formFlags(const StepForm &form);

/// Lists the other ways to train the model that may need fewer bytes on one card, or on as many as
/// there are.
std::vector<Relief> otherTrainings(const FitModel &model);

} // namespace llmmem

#endif // LLMMEM_LIB_FIT_TRAININGS_H
