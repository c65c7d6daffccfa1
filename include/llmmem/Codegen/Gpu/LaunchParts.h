//===- LaunchParts.h - Launches whose blocks are distributed over tensors --===//
//
// One launch works on many small tensors. It gets the buffers of all, and each block finds its own
// by its number, in a tree of comparisons. All threads of a block take the same branches.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_LAUNCHPARTS_H
#define LLMMEM_CODEGEN_GPU_LAUNCHPARTS_H

#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"

namespace llmmem {

/// A launch takes at most this number of buffers: 4 KiB of parameters, of 8 bytes each.
constexpr int64_t kMostLaunchBuffers = 4096 / 8;

/// Says what `blocks` neighbouring blocks work on. All parts of a launch have the same number of
/// buffers, of the same element types, and the same number of numbers.
struct LaunchPart {
  int64_t blocks;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<int64_t> numbers;
};

/// Describes the part of the current block. The lengths of its buffers are known only at run time
/// (`size` is 0).
struct FoundPart {
  /// Gives the number of the block among those of its part.
  Index block;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Index> numbers;
};

/// Finds the part of a block, inside a launch of as many blocks as all `parts` have.
///
/// Example, parts of 3 and 1 blocks with a buffer each:
///   %first, %x = scf.if (block < 3) { yield 0, cast %x0 } else { yield 3, cast %x1 }
FoundPart findPart(KernelEmitter &e, llvm::ArrayRef<LaunchPart> parts, Index block);

/// Returns the number of blocks of all parts together.
int64_t blocksOf(llvm::ArrayRef<LaunchPart> parts);

/// Acts as `forLanesParallel` for the elements of several ops in one launch. `common` is emitted
/// for the first of them. `body` gets an emitter whose operands and results are those of the
/// current op.
void forLanesOfOps(
    KernelEmitter &e, llvm::ArrayRef<OpBuffers> ops, KernelLoops::Common common,
    llvm::function_ref<void(KernelEmitter &own, Index, unsigned lanes, llvm::ArrayRef<Num>)> body);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_LAUNCHPARTS_H
