//===- FillDead.cpp - A call that fills bytes which nothing reads any more --===//

#include "FillDead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

/// The declaration of the runtime's function (include/llmmem/Runtime/Runtime.h).
static func::FuncOp fillFunction(ModuleOp module, Location loc) {
  constexpr StringLiteral name = "llmmem_fill_dead";
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto type =
      top.getFunctionType({LLVM::LLVMPointerType::get(top.getContext()), top.getI64Type()}, {});
  auto function = func::FuncOp::create(top, loc, name, type);
  function.setPrivate();
  return function;
}

void llmmem::emitFill(OpBuilder &builder, Location loc, Value bytes) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto module = parent->getParentOfType<ModuleOp>();
  int64_t size = cast<MemRefType>(bytes.getType()).getNumElements();
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, bytes);
  Value integer = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  Value pointer = LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), integer);
  Value count = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(size));
  func::CallOp::create(builder, loc, fillFunction(module, parent->getLoc()),
                       ValueRange{pointer, count});
}
