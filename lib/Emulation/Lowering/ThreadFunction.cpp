//===- ThreadFunction.cpp - Values in the function of one thread -----------===//

#include "ThreadFunction.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

func::FuncOp llmmem::emulationHook(ModuleOp module, StringRef name, TypeRange inputs,
                                   TypeRange results) {
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      func::FuncOp::create(top, module.getLoc(), name, top.getFunctionType(inputs, results));
  function.setPrivate();
  return function;
}

//===----------------------------------------------------------------------===//
// Words of the thread
//===----------------------------------------------------------------------===//

Value ThreadFunction::wordAddress(Value base, int64_t number) {
  return LLVM::GEPOp::create(builder, loc, pointer, integer, base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
}

Value ThreadFunction::threadWord(int64_t number, Type type) {
  Value &known = words[number];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(entryEnd);
    known = LLVM::LoadOp::create(builder, loc, type, wordAddress(function.getArgument(0), number));
  }
  return known;
}

Value ThreadFunction::entryWords(int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  return LLVM::AllocaOp::create(builder, loc, pointer, builder.getI32Type(),
                                LLVM::ConstantOp::create(builder, loc, integer, count));
}

func::CallOp ThreadFunction::callHook(StringRef name, ValueRange operands, TypeRange results) {
  func::FuncOp hook =
      emulationHook(function->getParentOfType<ModuleOp>(), name, TypeRange(operands), results);
  return func::CallOp::create(builder, loc, hook, operands);
}

//===----------------------------------------------------------------------===//
// What a thread is, and what it has
//===----------------------------------------------------------------------===//

Value ThreadFunction::linearThread() {
  auto word = [&](int64_t number) { return threadWord(number, integer); };
  auto combine = [&](Value low, Value size, Value high) -> Value {
    return arith::AddIOp::create(builder, loc, low,
                                 arith::MulIOp::create(builder, loc, size, high));
  };
  return combine(word(kThread), word(kBlockSize),
                 combine(word(kThread + 1), word(kBlockSize + 1), word(kThread + 2)));
}

Value ThreadFunction::threadIndexOf(Operation *op) {
  auto wordOf = [&](auto id, int64_t firstWord) {
    return toIndex(threadWord(firstWord + static_cast<int64_t>(id.getDimension()), integer));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](gpu::ThreadIdOp id) { return wordOf(id, kThread); })
      .Case([&](gpu::BlockIdOp id) { return wordOf(id, kBlock); })
      .Case([&](gpu::BlockDimOp id) { return wordOf(id, kBlockSize); })
      .Case([&](gpu::GridDimOp id) { return wordOf(id, kGridSize); })
      .Case([&](gpu::LaneIdOp) {
        return toIndex(
            arith::RemUIOp::create(builder, loc, linearThread(), integerConstant(kWarp)));
      })
      .Case([&](gpu::SubgroupIdOp) {
        return toIndex(
            arith::DivUIOp::create(builder, loc, linearThread(), integerConstant(kWarp)));
      })
      .Case([&](gpu::SubgroupSizeOp) { return toIndex(integerConstant(kWarp)); })
      .Default([](Operation *) { return Value(); });
}

/// Blocks of a cluster are neighbours along x.
Value ThreadFunction::clusterRank() {
  Value rank = arith::RemUIOp::create(builder, loc, threadWord(kBlock, integer),
                                      integerConstant(clusterBlocks));
  return arith::TruncIOp::create(builder, loc, builder.getI32Type(), rank);
}

Value ThreadFunction::sharedMemory(int64_t offset, MemRefType type) {
  Value begin =
      LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), threadWord(kShared, pointer),
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  if (type.hasStaticShape())
    return cast(type, MemRefDescriptor::fromStaticShape(builder, loc, types, type, begin));
  auto buffer = MemRefDescriptor::poison(builder, loc, types.convertType(type));
  buffer.setAllocatedPtr(builder, loc, begin);
  buffer.setAlignedPtr(builder, loc, begin);
  buffer.setConstantOffset(builder, loc, 0);
  buffer.setSize(builder, loc, 0, threadWord(kDynamicBytes, integer));
  buffer.setConstantStride(builder, loc, 0, 1);
  return cast(type, buffer);
}

/// Stores the thread's sums of wgmma on the stack.
Value ThreadFunction::storeSums(Value sums, int64_t count) {
  Value words = entryWords(count);
  for (int32_t number = 0; number < count; ++number) {
    Value sum = LLVM::ExtractValueOp::create(builder, loc, sums, number);
    LLVM::StoreOp::create(builder, loc, sum, wordOfStack(words, number));
  }
  return words;
}

void ThreadFunction::replaceBySums(Operation *product, Value stored, int64_t count) {
  Value result = LLVM::PoisonOp::create(builder, loc, product->getResult(0).getType());
  for (int32_t number = 0; number < count; ++number) {
    Value sum =
        LLVM::LoadOp::create(builder, loc, builder.getF32Type(), wordOfStack(stored, number));
    result = LLVM::InsertValueOp::create(builder, loc, result, sum, ArrayRef<int64_t>{number});
  }
  product->getResult(0).replaceAllUsesWith(result);
  product->erase();
}
