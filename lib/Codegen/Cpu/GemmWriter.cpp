//===- GemmWriter.cpp - Builders for the functions of matmuls -------------===//

#include "GemmWriter.h"
#include "FactorB.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

Pointer gemm::operator+(Pointer base, Index elements) {
  OpBuilder &builder = *base.builder;
  Location loc = base.address.getLoc();
  Value offset = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), elements.value);
  return {base.builder,
          LLVM::GEPOp::create(builder, loc, base.address.getType(), base.element, base.address,
                              ValueRange{offset}),
          base.element};
}

Index Writer::constant(int64_t value) {
  return {&builder, arith::ConstantIndexOp::create(builder, loc(), value)};
}

Pointer Writer::panel(int64_t size) {
  Value count = LLVM::ConstantOp::create(builder, loc(), builder.getI64Type(), size);
  Type type = LLVM::LLVMPointerType::get(builder.getContext());
  return {&builder,
          LLVM::AllocaOp::create(builder, loc(), type, accumulatorType, count, /*alignment=*/64),
          accumulatorType};
}

Num Writer::load(Pointer from, int64_t lanes, bool aligned) {
  Type type = lanes == 1 ? from.element : VectorType::get(lanes, from.element);
  unsigned alignment = bytesOfNumber(from.element) * (aligned ? lanes : 1);
  return convert({&builder, LLVM::LoadOp::create(builder, loc(), type, from.address, alignment)},
                 accumulatorType);
}

void Writer::store(Pointer to, Num x, bool aligned) {
  unsigned alignment = bytesOfNumber(to.element) * (aligned ? sizes.lanes : 1);
  LLVM::StoreOp::create(builder, loc(), convert(x, to.element).value, to.address, alignment);
}

Num Writer::loadFirst(Pointer from, Index count) {
  auto type = VectorType::get(sizes.lanes, from.element);
  Value mask = vector::CreateMaskOp::create(builder, loc(), type.clone(builder.getI1Type()),
                                            ValueRange{count.value});
  Value zero = arith::ConstantOp::create(builder, loc(), builder.getZeroAttr(type));
  return convert({&builder, LLVM::MaskedLoadOp::create(builder, loc(), type, from.address, mask,
                                                       zero, bytesOfNumber(from.element))},
                 accumulatorType);
}

void Writer::storeFirst(Pointer to, Index count, Num x) {
  auto lanes = VectorType::get(sizes.lanes, builder.getI1Type());
  Value mask = vector::CreateMaskOp::create(builder, loc(), lanes, ValueRange{count.value});
  LLVM::MaskedStoreOp::create(builder, loc(), convert(x, to.element).value, to.address, mask,
                              bytesOfNumber(to.element));
}

void Writer::prefetch(Pointer from) {
  // It is for reading, into all caches, as data.
  LLVM::Prefetch::create(builder, loc(), from.address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

Num Writer::spread(Num x) {
  auto type = VectorType::get(sizes.lanes, x.type());
  return {&builder, vector::BroadcastOp::create(builder, loc(), type, x.value)};
}

Num Writer::zeros() {
  auto type = VectorType::get(sizes.lanes, accumulatorType);
  return {&builder, arith::ConstantOp::create(builder, loc(), builder.getZeroAttr(type))};
}

void Writer::forEach(Index lower, Index upper, int64_t step, function_ref<void(Index)> body) {
  auto loop = scf::ForOp::create(builder, loc(), lower.value, upper.value, constant(step).value);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body({&builder, loop.getInductionVar()});
}

void Writer::ifThen(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(builder, loc(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  then();
}

void Writer::call(func::FuncOp callee, ArrayRef<Value> arguments) {
  func::CallOp::create(builder, loc(), callee, arguments);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Functions::Functions(ModuleOp module, Location loc, Type element, PackedFormat held)
    : sizes(llm::wideTypeFor(element)), module(module), loc(loc),
      accumulatorType(llm::wideTypeFor(element)), element(element),
      pointer(LLVM::LLVMPointerType::get(element.getContext())),
      index(IndexType::get(element.getContext())), held(held) {}

func::FuncOp Functions::define(StringRef name, TypeRange arguments,
                               function_ref<void(Writer &)> body) {
  std::string fullName;
  llvm::raw_string_ostream(fullName) << "gemm_" << element << "_" << name;
  if (auto known = module.lookupSymbol<func::FuncOp>(fullName))
    return known;
  OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(end, loc, fullName, end.getFunctionType(arguments, {}));
  function.setPrivate();
  function->setAttr("passthrough", end.getStrArrayAttr({"noinline"}));
  function.addEntryBlock();
  Writer writer(function, accumulatorType, element, held);
  body(writer);
  func::ReturnOp::create(writer.builder, loc);
  return function;
}

func::FuncOp Functions::defineWithB(StringRef name, TypeRange arguments,
                                    function_ref<void(Writer &)> body) {
  if (!held)
    return define(name, arguments, body);
  std::string ofFormat;
  llvm::raw_string_ostream(ofFormat) << "by_" << held.element << "_" << held.group << "_" << name;
  SmallVector<Type> types(arguments);
  llvm::append_range(types, FactorB::restTypes(module.getContext()));
  return define(ofFormat, types, body);
}
