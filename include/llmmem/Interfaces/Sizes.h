//===- Sizes.h - Whether the sizes of a program can be counted ---------------===//

#ifndef LLMMEM_INTERFACES_SIZES_H
#define LLMMEM_INTERFACES_SIZES_H

#include "mlir/IR/Operation.h"

namespace llmmem {

/// How much is checked: of each type that its bytes can be counted, or of each its bits, and of all
/// values together their bytes, each rounded up to 256.
enum class SizeLimit { BytesOfEach, BitsAndSum };

/// Emits an error at the first value in `root`, or in its regions, of which 2^63 - 1 cannot count
/// that, or at `root` where all are too many together. After this check the elements and bytes of
/// a type, and sums of them over values, are what they seem. Products of two sizes are not: those
/// are counted by llmmem/Support/Count.h. Every pass and tool that computes with sizes of a program
/// from outside asks here first; who has the sum checked by the extraction of a problem asks for
/// `BytesOfEach`. Types without a static shape pass: who needs their bytes refuses them.
llvm::LogicalResult checkSizes(mlir::Operation *root, SizeLimit limit = SizeLimit::BitsAndSum);

} // namespace llmmem

#endif // LLMMEM_INTERFACES_SIZES_H
