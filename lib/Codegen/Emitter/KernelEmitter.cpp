//===- KernelEmitter.cpp - Buffers of kernels ------------------------------===//

#include "llmmem/Codegen/Emitter/KernelLoops.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

FloatType llmmem::computeTypeOf(Operation *op) {
  auto isDouble = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  if (llvm::any_of(op->getOperandTypes(), isDouble) || llvm::any_of(op->getResultTypes(), isDouble))
    return Float64Type::get(op->getContext());
  return Float32Type::get(op->getContext());
}

static Buffer bufferOf(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return {memref, type.getNumElements(), type.getElementType()};
}

KernelEmitter::KernelEmitter(Operation *op, Block *block, KernelOptions options)
    : op(op), entry(block), workspaceNumber(op->getNumOperands() + op->getNumResults()),
      chosen(options), nested(OpBuilder::atBlockEnd(block)), numberType(computeTypeOf(op)),
      kernelLoops(options.target == KernelTarget::Gpu ? makeDeviceLoops(op) : makeCpuLoops(block)),
      vectorLanes(kernelLoops->lanes(numberType)) {
  for (unsigned number = 0; number < op->getNumOperands(); ++number)
    operands.push_back(bufferOf(block->getArgument(number)));
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    results.push_back(bufferOf(block->getArgument(op->getNumOperands() + number)));
}

KernelEmitter::KernelEmitter(Operation *op, KernelEmitter &outer, ArrayRef<Buffer> operands,
                             ArrayRef<Buffer> results)
    : op(op), entry(outer.entry), workspaceNumber(outer.workspaceNumber), chosen(outer.chosen),
      nested(outer.nested), operands(operands), results(results), numberType(computeTypeOf(op)),
      kernelLoops(outer.kernelLoops), vectorLanes(kernelLoops->lanes(numberType)) {}

KernelEmitter::KernelEmitter(Operation *op, const OpBuilder &builder, ArrayRef<Buffer> operands,
                             ArrayRef<Buffer> results, KernelOptions options)
    : op(op), entry(builder.getInsertionBlock()),
      workspaceNumber(op->getNumOperands() + op->getNumResults()), chosen(options), nested(builder),
      operands(operands), results(results), numberType(computeTypeOf(op)),
      kernelLoops(makeCpuLoops(entry)), vectorLanes(kernelLoops->lanes(numberType)) {}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Buffer Buffer::of(Type tensor, const BufferAccess &access) {
  auto type = cast<RankedTensorType>(tensor);
  return {Value(), type.getNumElements(), type.getElementType(), &access};
}

Buffer KernelEmitter::workspace() {
  Value bytes = entry->getArgument(workspaceNumber);
  int64_t width = bytesOfNumber(numberType);
  return workspace(0, cast<MemRefType>(bytes.getType()).getNumElements() / width, numberType);
}

Buffer KernelEmitter::workspace(int64_t begin, int64_t size, Type element) {
  OpBuilder start = OpBuilder::atBlockBegin(entry);
  Value bytes = entry->getArgument(workspaceNumber);
  Value shift = arith::ConstantIndexOp::create(start, op->getLoc(), begin);
  return bufferOf(memref::ViewOp::create(start, op->getLoc(), MemRefType::get({size}, element),
                                         bytes, shift, ValueRange()));
}

Buffer KernelEmitter::operand(MutableOperandRange range) const {
  return range.empty() ? Buffer() : operand(range[0].getOperandNumber());
}

Buffer KernelEmitter::scratch(int64_t size, Type element) {
  return kernelLoops->scratch(*this, size, element ? element : numberType);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Num KernelEmitter::number(double constant) {
  Value value =
      arith::ConstantOp::create(nested, op->getLoc(), nested.getFloatAttr(numberType, constant));
  return {&nested, value};
}

Num KernelEmitter::splat(double constant, unsigned lanes) {
  Num scalar = number(constant);
  if (lanes == 1)
    return scalar;
  auto type = VectorType::get({lanes}, numberType);
  return {&nested, vector::BroadcastOp::create(nested, op->getLoc(), type, scalar.value)};
}

Value KernelEmitter::loadRaw(Buffer buffer, Index index, unsigned lanes) {
  if (buffer.access)
    return buffer.access->load(nested, index, lanes);
  if (lanes == 1)
    return memref::LoadOp::create(nested, op->getLoc(), buffer.memref, index.value);
  auto type = VectorType::get({lanes}, buffer.element);
  return vector::LoadOp::create(nested, op->getLoc(), type, buffer.memref, index.value);
}

void KernelEmitter::storeRaw(Buffer buffer, Index index, Value value) {
  if (buffer.access)
    buffer.access->store(nested, index, value);
  else if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(nested, op->getLoc(), value, buffer.memref, index.value);
  else
    kernelLoops->storeOnce(*this, [&] {
      memref::StoreOp::create(nested, op->getLoc(), value, buffer.memref, index.value);
    });
}

Num KernelEmitter::load(Buffer buffer, Index index, unsigned lanes) {
  return convert({&nested, loadRaw(buffer, index, lanes)}, numberType);
}

void KernelEmitter::store(Buffer buffer, Index index, Num x) {
  storeRaw(buffer, index, convert(x, buffer.element).value);
}

Index KernelEmitter::index(int64_t constant) {
  return {&nested, arith::ConstantIndexOp::create(nested, op->getLoc(), constant)};
}

Index KernelEmitter::loadIndex(Buffer buffer, Index index) {
  Value raw = loadRaw(buffer, index);
  return {&nested, arith::IndexCastOp::create(nested, op->getLoc(), nested.getIndexType(), raw)};
}

Value llmmem::lieApart(KernelEmitter &e, Buffer a, Buffer b) {
  auto address = [&](Buffer buffer) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(e.builder(), e.location(), buffer.memref);
  };
  return arith::CmpIOp::create(e.builder(), e.location(), arith::CmpIPredicate::ne, address(a),
                               address(b));
}
