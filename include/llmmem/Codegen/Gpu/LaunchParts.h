//===- LaunchParts.h - Launches whose blocks are distributed over tensors --===//
//
// One launch works on many small tensors: it gets the buffers of all, and each block finds its own
// by its number, in a tree of comparisons. All threads of a block take the same branches.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_LAUNCHPARTS_H
#define LLMMEM_CODEGEN_GPU_LAUNCHPARTS_H

#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"

namespace llmmem {

/// As many buffers as a launch may take: 4 KiB of parameters, of 8 bytes each.
constexpr int64_t kMostLaunchBuffers = 4096 / 8;

/// What `blocks` neighbouring blocks work on. Parts of a launch have as many buffers, of the same
/// element types, and as many numbers.
struct LaunchPart {
  int64_t blocks;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<int64_t> numbers;
};

/// The part of the block at hand. The lengths of its buffers are known at run time alone (`size` is
/// 0).
struct FoundPart {
  /// The number of the block among those of its part.
  Index block;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Index> numbers;
};

/// Inside a launch of as many blocks as all `parts` have.
///
/// Example, parts of 3 and 1 blocks with a buffer each:
///   %first, %x = scf.if (block < 3) { yield 0, cast %x0 } else { yield 3, cast %x1 }
FoundPart findPart(KernelEmitter &e, llvm::ArrayRef<LaunchPart> parts, Index block);

/// Blocks of all parts together.
int64_t blocksOf(llvm::ArrayRef<LaunchPart> parts);

/// As `forLanesParallel`, for the elements of several ops in one launch. `common` is written for
/// the first of them; `body` gets an emitter whose operands and results are those of the op at
/// hand.
void forLanesOfOps(
    KernelEmitter &e, llvm::ArrayRef<OpBuffers> ops, KernelLoops::Common common,
    llvm::function_ref<void(KernelEmitter &own, Index, unsigned lanes, llvm::ArrayRef<Num>)> body);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_LAUNCHPARTS_H
