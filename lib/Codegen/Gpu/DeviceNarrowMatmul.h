//===- DeviceNarrowMatmul.h - Few rows by a packed matrix -----------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_DEVICENARROWMATMUL_H
#define LLMMEM_LIB_CODEGEN_GPU_DEVICENARROWMATMUL_H

#include "Emitter/Matmuls.h"

namespace llmmem {

/// Returns whether B has fewer bits, and C has few enough rows to be sums of one thread a column.
bool isNarrowOnDevice(const Matmul &matmul);

/// Emits the matmuls make(0), ..., make(count - 1), of which `first` is one, in one launch, with
/// the bits of `emitDeviceMatmuls`.
void emitNarrowOnDevice(KernelEmitter &e, int64_t count, const Matmul &first,
                        llvm::function_ref<Matmul(Index number)> make);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_DEVICENARROWMATMUL_H
