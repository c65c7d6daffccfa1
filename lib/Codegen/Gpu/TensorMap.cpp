//===- TensorMap.cpp - Matrices that the tensor memory accelerator copies ---===//

#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;

static constexpr StringLiteral kName = "llvm.llmmem.tensor.map", kF16 = ".f16", kBF16 = ".bf16",
                               kShape = "map";

Value TensorMap::create(OpBuilder &builder, Location loc, Value buffer, Value first, Shape shape) {
  Type word = builder.getI64Type();
  auto asWord = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, word, index);
  };
  SmallVector<Value> operands = {
      asWord(memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer))};
  if (first)
    operands.push_back(asWord(first));
  bool isF16 = cast<MemRefType>(buffer.getType()).getElementType().isF16();
  auto call = LLVM::CallIntrinsicOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      builder.getStringAttr((kName + (isF16 ? kF16 : kBF16)).str()), operands);
  call->setAttr(kShape, builder.getDenseI64ArrayAttr(
                            {shape.begin, shape.rows, shape.columns, shape.pitch, shape.boxRows}));
  return call.getResult(0);
}

std::optional<TensorMap> TensorMap::match(Operation *op) {
  auto call = dyn_cast_if_present<LLVM::CallIntrinsicOp>(op);
  if (!call || !call.getIntrin().starts_with(kName))
    return std::nullopt;
  return TensorMap(call);
}

TensorMap::Shape TensorMap::shape() const {
  ArrayRef<int64_t> numbers = call->getAttrOfType<DenseI64ArrayAttr>(kShape).asArrayRef();
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

bool TensorMap::isF16() const { return call.getIntrin().ends_with(kF16); }

/// Returns what a word was cast from.
static Value indexOf(Value word) {
  auto cast = word.getDefiningOp<arith::IndexCastOp>();
  return cast ? cast.getIn() : Value();
}

Value TensorMap::buffer() const {
  Value address = indexOf(call.getArgs().front());
  auto pointer =
      address ? address.getDefiningOp<memref::ExtractAlignedPointerAsIndexOp>() : nullptr;
  return pointer ? pointer.getSource() : Value();
}

Value TensorMap::first() const {
  return call.getArgs().size() > 1 ? indexOf(call.getArgs()[1]) : Value();
}
