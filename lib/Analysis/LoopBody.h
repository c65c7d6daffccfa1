//===- LoopBody.h - What the body of a loop costs and holds ----------------===//

#ifndef LLMMEM_LIB_ANALYSIS_LOOPBODY_H
#define LLMMEM_LIB_ANALYSIS_LOOPBODY_H

#include "llmmem/Analysis/OpDescription.h"

namespace llmmem {

/// Returns sums and peak of one run of a region, by the descriptions of its ops. What it is given
/// and constants cost no scratch bytes; nor does a result that overwrites one of its first
/// `carried` arguments. The others are read after the run, by another round or outside, so they
/// stay.
llvm::FailureOr<OpDescription> describeRegion(mlir::Region &region, unsigned carried,
                                              const OpTable &table);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_LOOPBODY_H
