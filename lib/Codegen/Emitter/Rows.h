//===- Rows.h - Rows of buffers in registers -------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_ROWS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_ROWS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

Row loadRow(KernelEmitter &e, Buffer buffer, Index index, int64_t width);
void storeRow(KernelEmitter &e, Buffer buffer, Index index, llvm::ArrayRef<Num> row);
Row zeroRow(KernelEmitter &e, int64_t width);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_ROWS_H
