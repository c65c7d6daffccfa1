//===- ReliefReport.h - What would make a no a yes, for people ----*- C++ -*-===//

#ifndef LLMMEM_LIB_FIT_RELIEFREPORT_H
#define LLMMEM_LIB_FIT_RELIEFREPORT_H

#include "llmmem/Fit/Fit.h"

namespace llmmem {

/// Prints a table of the ways to train that were found to fit, with their commands, and a line of
/// those that do not suffice.
void printReliefs(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os);

} // namespace llmmem

#endif // LLMMEM_LIB_FIT_RELIEFREPORT_H
