//===- PowersOfTwo.cpp - 2^x on a GPU --------------------------------------===//

#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace llmmem;

Num llmmem::powerOfTwo(Num x) {
  OpBuilder &b = *x.builder;
  auto call = LLVM::CallIntrinsicOp::create(b, x.value.getLoc(), x.type(),
                                            b.getStringAttr(kApproximatePower), x.value);
  return {&b, call.getResult(0)};
}
