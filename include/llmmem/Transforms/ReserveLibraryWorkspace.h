//===- ReserveLibraryWorkspace.h - Workspace for a library of matmuls -----===//

#ifndef LLMMEM_TRANSFORMS_RESERVELIBRARYWORKSPACE_H
#define LLMMEM_TRANSFORMS_RESERVELIBRARYWORKSPACE_H

#include "llmmem/Device/DeviceModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Writes `llm.library_workspace` on each op of `step` that multiplies matrices, and returns how
/// many there are: the table's bytes, but no more than a quarter of the op's operands and results.
///
/// Example, h100 (32 MiB): 8192 x 4096 by 4096 x 4096 in bf16 holds 168 MB and gets 33,554,432
/// bytes; 128 x 64 by 64 x 96 holds 53,248 and gets 13,312.
///
/// A loss head among them gets the granule that suits a library (Targets/LossHeadGranule.h), before
/// its chunk is planned.
unsigned reserveLibraryWorkspace(mlir::func::FuncOp step, const DeviceModel &device);

/// Leaves the sums over ranks of `step` to a library that has memory of its own (NCCL): writes
/// `llm.library_workspace = 0` on each, so that no plan counts the buffer of MPI's. Returns how
/// many there are.
unsigned leaveSumsToLibrary(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_RESERVELIBRARYWORKSPACE_H
