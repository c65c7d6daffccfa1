//===- MmaProduct.h - Products of bf16 matrices on tensor cores ------------===//
//
// What stands in where no library multiplies: one launch, a block of threads for each tile of C.
// Each element of C is summed in f32 by mma.sync over `inner` from 0 up in steps of 16 and then
// over the terms, whatever the tiles, and rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMAPRODUCT_H
#define LLMMEM_LIB_CODEGEN_GPU_MMAPRODUCT_H

#include "Emitter/Products.h"

namespace llmmem {

/// Whether both factors are bf16.
bool isMmaProduct(const Product &product);

/// Writes the launch of make(0), ..., make(count - 1), one of which is `first`, into the device
/// kernel of `e`.
void emitMmaProducts(KernelEmitter &e, int64_t count, const Product &first,
                     llvm::function_ref<Product(Index number)> make);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMAPRODUCT_H
