//===- EmulatedTensorCores.cpp - What tensor cores do, on the emulator -----===//

#include "KernelEmulation.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Tiles: asynchronous copies and loads of matrices
//===----------------------------------------------------------------------===//

LogicalResult KernelEmulation::rewriteTileAccess(Operation *op) {
  if (auto copy = dyn_cast<nvgpu::DeviceAsyncCopyOp>(op)) {
    if (!copy.getAsyncToken().use_empty())
      return op->emitOpError("gives its token to another op; expected "
                             "nvvm.cp.async.commit.group, which needs none");
    rewriteCopy(copy);
    return success();
  }
  auto load = cast<nvgpu::LdMatrixOp>(op);
  if (Type element = load.getRes().getType().getElementType(); !llm::isHalf(element))
    return op->emitOpError("loads ")
           << element << ", which the emulator does not support; expected bf16 or f16";
  rewriteLoadMatrix(load);
  return success();
}

void KernelEmulation::rewriteCopy(nvgpu::DeviceAsyncCopyOp copy) {
  SmallVector<KernelAccess, 2> accesses = kernelAccessesOf(copy);
  int64_t element = bytesOfNumber(getElementTypeOrSelf(accesses[0].type));
  Value bytes = integerConstant(bytesOfNumber(accesses[0].type));
  if (accesses[0].count)
    bytes =
        arith::MulIOp::create(builder, loc, toInteger(accesses[0].count), integerConstant(element));
  auto [from, fromOffset] = addressOf(accesses[0]);
  auto [to, toOffset] = addressOf(accesses[1]);
  callHook("llmmem_emulate_copy", {function.getArgument(0), integerConstant(sites.numberOf(copy)),
                                   from, fromOffset, to, toOffset, bytes});
  copy.erase();
}

/// The hook writes this lane's words, one of each matrix, to the stack.
void KernelEmulation::rewriteLoadMatrix(nvgpu::LdMatrixOp load) {
  VectorType type = load.getRes().getType();
  int64_t matrices = type.getShape()[0];
  Value words = entryWords(matrices);
  auto [base, offset] = addressOf(kernelAccessesOf(load)[0]);
  callHook("llmmem_emulate_load_matrix",
           {function.getArgument(0), integerConstant(sites.numberOf(load)), base, offset, words});
  auto pair = VectorType::get({2}, type.getElementType());
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    Value word = LLVM::LoadOp::create(builder, loc, builder.getI32Type(),
                                      wordOfStack(words, static_cast<int32_t>(matrix)));
    Value whole =
        vector::BroadcastOp::create(builder, loc, VectorType::get({1}, builder.getI32Type()), word);
    result = vector::InsertOp::create(
        builder, loc, vector::BitCastOp::create(builder, loc, pair, whole), result, matrix);
  }
  load.getRes().replaceAllUsesWith(result);
  load.erase();
}

LogicalResult KernelEmulation::rewriteMma(NVVM::MmaOp mma) {
  auto shape = mma.getShape();
  auto element = mma.getMultiplicandAPtxType();
  bool isHalf = element == NVVM::MMATypes::bf16 || element == NVVM::MMATypes::f16;
  bool isKnown = shape.getM() == 16 && shape.getN() == 8 && shape.getK() == 16 && isHalf &&
                 mma.getMultiplicandBPtxType() == element &&
                 llvm::all_of(mma.getOperandC().getTypes(), [](Type type) { return type.isF32(); });
  if (!isKnown)
    return mma.emitOpError("is an mma that the emulator does not support; expected m16n8k16 of "
                           "bf16 or f16 in f32");
  // The fragments have 4 words of A, 2 of B, 4 numbers of C that become D's, and whether the words
  // are f16.
  Value fragments = entryWords(11);
  auto place = [&](int32_t number) { return wordOfStack(fragments, number); };
  for (auto [number, operand] : llvm::enumerate(mma->getOperands()))
    LLVM::StoreOp::create(builder, loc, operand, place(number));
  Value isF16 =
      LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), element == NVVM::MMATypes::f16);
  LLVM::StoreOp::create(builder, loc, isF16, place(10));
  callHook("llmmem_emulate_mma",
           {function.getArgument(0), integerConstant(sites.numberOf(mma)), fragments});
  Value result = LLVM::PoisonOp::create(builder, loc, mma.getType());
  for (int32_t number = 0; number < 4; ++number) {
    Value sum = LLVM::LoadOp::create(builder, loc, builder.getF32Type(), place(6 + number));
    result = LLVM::InsertValueOp::create(builder, loc, result, sum, ArrayRef<int64_t>{number});
  }
  mma.getResult().replaceAllUsesWith(result);
  mma.erase();
  return success();
}

/// The hook adds to the thread's sums on the stack.
void KernelEmulation::rewriteWgmma(NVVM::WgmmaMmaAsyncOp product) {
  const int64_t count = product.getShape().getN() / 2;
  Value sums = storeSums(product.getInouts(), count);
  callHook("llmmem_emulate_wgmma",
           {function.getArgument(0), integerConstant(sites.numberOf(product)), sums,
            product.getDescriptorA(), product.getDescriptorB()});
  replaceBySums(product, sums, count);
}

/// The host has no such instructions.
LogicalResult KernelEmulation::rewriteIntrinsic(LLVM::CallIntrinsicOp call) {
  if (call.getIntrin() == kApproximatePower) {
    call.getResult(0).replaceAllUsesWith(
        LLVM::Exp2Op::create(builder, loc, call.getArgs().front()));
    call.erase();
    return success();
  }
  // Its copies say what it does.
  if (TensorMap::match(call)) {
    if (call->use_empty())
      call.erase();
    return success();
  }
  std::optional<RegisterWgmma> product = RegisterWgmma::match(call);
  if (!product)
    return call.emitOpError("is an intrinsic that the emulator does not support");
  const int64_t count = product->columns() / 2;
  Value sums = storeSums(product->sums(), count), words = entryWords(4);
  for (auto [number, word] : llvm::enumerate(product->a()))
    LLVM::StoreOp::create(builder, loc, word, wordOfStack(words, static_cast<int32_t>(number)));
  callHook(
      "llmmem_emulate_register_wgmma",
      {function.getArgument(0), integerConstant(sites.numberOf(call)), sums, words, product->b()});
  replaceBySums(call, sums, count);
  return success();
}
