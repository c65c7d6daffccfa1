//===- FactorB.cpp - The elements of B, however they are held -------------===//

#include "FactorB.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

FactorB::FactorB(Writer &w, unsigned argument)
    : w(&w), payload(w.pointer(argument, w.held ? Type(w.builder.getI8Type()) : w.element)),
      scales(payload), zeros(payload) {
  if (!w.held)
    return;
  unsigned rest = w.function.getNumArguments() - 3;
  begin = w.index(rest);
  scales = w.pointer(rest + 1, w.element);
  zeros = w.pointer(rest + 2, w.builder.getI8Type());
}

FactorB FactorB::operator+(Index count) const {
  FactorB from = *this;
  if (w->held)
    from.begin = begin + count;
  else
    from.payload = payload + count;
  return from;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static Value loadAs(Writer &w, Pointer from, Index place, int64_t count, Type element) {
  Type type = count == 1 ? element : VectorType::get(count, element);
  return LLVM::LoadOp::create(w.builder, w.loc(), type, (from + place).address, /*alignment=*/1);
}

Value FactorB::loadStored(Index byte, int64_t count, Type integer) const {
  return loadAs(*w, payload + begin / w->held.perByte(), byte, count, integer);
}

Index FactorB::groupOf(Index place) const { return (begin + place) / w->held.group; }

Num FactorB::scaleOf(Index group) const { return scalesOf(group, 1); }

Num FactorB::scalesOf(Index group, int64_t count) const { return w->load(scales + group, count); }

Value FactorB::zeroByte(Index number) const {
  return loadAs(*w, zeros, number, 1, w->builder.getI8Type());
}

Value FactorB::zeroBitsOf(Index group) const {
  Value word = wordsOfBytes(w->builder, w->loc(), zeroByte(group / 2));
  Value shift = arith::IndexCastOp::create(w->builder, w->loc(), w->builder.getI32Type(),
                                           (group % 2 * 4).value);
  return arith::ShRUIOp::create(w->builder, w->loc(), word, shift);
}

std::optional<Num> FactorB::zeroOfGroup(Index group) const {
  if (!w->held.hasZeros())
    return std::nullopt;
  return zeroOf(w->builder, w->loc(), zeroBitsOf(group));
}

void FactorB::prefetch(Index place) const {
  w->prefetch(payload + (w->held ? (begin + place) / w->held.perByte() : place));
}

Num FactorB::load(Index place, int64_t lanes) const {
  if (!w->held)
    return w->load(payload + place, lanes);
  int64_t perByte = w->held.perByte();
  Value bytes =
      loadAs(*w, payload, (begin + place) / perByte, lanes / perByte, w->builder.getI8Type());
  Value words = wordsOfBytes(w->builder, w->loc(), bytes);
  Index group = groupOf(place);
  if (perByte == 2)
    words = separateNibbles(w->builder, w->loc(), words);
  return numbersOf(w->builder, w->loc(), words, w->held.element, zeroOfGroup(group)) *
         scaleOf(group);
}

Num FactorB::loadFirst(Index place, Index count) const {
  if (!w->held)
    return w->loadFirst(payload + place, count);
  Num zeros = w->zeros();
  auto branch = scf::IfOp::create(w->builder, w->loc(), zeros.type(), less(w->constant(0), count),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(w->builder);
  w->builder.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(w->builder, w->loc(), load(place, w->sizes.lanes).value);
  w->builder.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(w->builder, w->loc(), zeros.value);
  return {&w->builder, branch.getResult(0)};
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value FactorB::pointer() const { return payload.address; }

SmallVector<Value> FactorB::rest() const {
  if (!w->held)
    return {};
  return {begin.value, scales.address, zeros.address};
}

SmallVector<Type> FactorB::restTypes(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  return {IndexType::get(context), pointer, pointer};
}
