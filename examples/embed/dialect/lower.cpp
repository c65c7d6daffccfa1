//===- lower.cpp - A planned step as calls on views of one arena -------------===//

#include "mine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

static MemRefType bufferOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// Returns the function that computes an op, which a kernel library is to bring.
static func::FuncOp kernelOf(Operation *op, TypeRange buffers, OpBuilder builder) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = op->getName().getStringRef().str();
  std::replace(name.begin(), name.end(), '.', '_');
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel =
      func::FuncOp::create(builder, op->getLoc(), name, builder.getFunctionType(buffers, {}));
  kernel.setPrivate();
  return kernel;
}

void mine::lower(func::FuncOp step) {
  OpBuilder builder(step);
  const int64_t bytes = step->getAttrOfType<IntegerAttr>("llm.arena").getInt();
  SmallVector<Type> arguments, results;
  for (Type type : step.getArgumentTypes())
    arguments.push_back(bufferOf(type));
  for (Type type : step.getResultTypes())
    results.push_back(bufferOf(type));
  arguments.push_back(MemRefType::get({bytes}, builder.getI8Type()));

  auto lowered = func::FuncOp::create(builder, step.getLoc(), step.getName(),
                                      builder.getFunctionType(arguments, results));
  Block *body = lowered.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping buffers;
  buffers.map(step.getArguments(), body->getArguments().drop_back());
  for (Operation &op : step.getBody().front().without_terminator()) {
    Location loc = op.getLoc();
    const int64_t offset = op.getAttrOfType<DenseI64ArrayAttr>("llm.offsets")[0];
    Value at = arith::ConstantIndexOp::create(builder, loc, offset);
    Value buffer = memref::ViewOp::create(builder, loc, bufferOf(op.getResult(0).getType()),
                                          body->getArguments().back(), at, ValueRange());
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(buffers.lookup(operand));
    operands.push_back(buffer);
    func::CallOp::create(builder, loc, kernelOf(&op, ValueRange(operands).getTypes(), builder),
                         operands);
    buffers.map(op.getResult(0), buffer);
  }
  SmallVector<Value> returned;
  for (Value value : step.getBody().front().getTerminator()->getOperands())
    returned.push_back(buffers.lookup(value));
  func::ReturnOp::create(builder, step.getLoc(), returned);
  step.erase();
}
