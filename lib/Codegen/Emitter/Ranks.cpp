//===- Ranks.cpp - The position of a kernel's rank in the mesh ---------===//

#include "Ranks.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace llmmem;

static Value callAt(OpBuilder &builder, Operation *op, StringRef function, ValueRange arguments,
                    Type result) {
  auto module = op->getParentOfType<ModuleOp>();
  auto declared = module.lookupSymbol<func::FuncOp>(function);
  if (!declared) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto type = top.getFunctionType(arguments.getTypes(), result ? TypeRange(result) : TypeRange());
    declared = func::FuncOp::create(top, op->getLoc(), function, type);
    declared.setPrivate();
  }
  auto call = func::CallOp::create(builder, op->getLoc(), declared, arguments);
  return result ? call.getResult(0) : Value();
}

Value llmmem::callRuntime(KernelEmitter &e, StringRef function, ValueRange arguments, Type result) {
  return callAt(e.builder(), e.operation(), function, arguments, result);
}

Index llmmem::positionInGroup(KernelEmitter &e, ArrayAttr axes) {
  Operation *kernel = e.builder().getInsertionBlock()->getParentOp();
  while (!isa<func::FuncOp>(kernel))
    kernel = kernel->getParentOp();
  OpBuilder entry = OpBuilder::atBlockBegin(&cast<func::FuncOp>(kernel).front());
  Operation *op = e.operation();
  Value bits = arith::ConstantOp::create(
      entry, op->getLoc(), entry.getI64IntegerAttr(llm::meshOf(op).getAxisBits(axes)));
  Value position = callAt(entry, op, "llmmem_group_position", bits, entry.getI64Type());
  return {&e.builder(),
          arith::IndexCastOp::create(entry, op->getLoc(), entry.getIndexType(), position)};
}
