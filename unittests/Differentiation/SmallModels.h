//===- SmallModels.h - Models of each family, as small as they can be ------===//

#ifndef LLMMEM_UNITTESTS_DIFFERENTIATION_SMALLMODELS_H
#define LLMMEM_UNITTESTS_DIFFERENTIATION_SMALLMODELS_H

#include "GradientCheck.h"
#include "llmmem/Import/Import.h"

namespace llmmem::test {

/// Two layers, width 8, 2 heads (1 for keys and values outside gpt2), 11 tokens. Fails the test
/// where there is none.
mlir::OwningOpRef<mlir::ModuleOp> importSmallModel(const std::string &family,
                                                   const importer::ImportOptions &options);

/// Numbers for each argument, by role and name: scales of norms about 1, states 0, some ignored
/// targets, sums of gradients that are not 0.
std::vector<Numbers> argumentsOf(const Program &step, double learningRate);

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_DIFFERENTIATION_SMALLMODELS_H
