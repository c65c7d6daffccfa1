//===- ThreadFunction.h - The function of one thread, in the making --------===//
//
// A kernel on the emulator is a function of one thread, which receives the thread's words and those
// of the launch's arguments. Code that rewrites a kernel takes values from here: words of the
// thread, numbers, words on its stack, shared memory and calls of the emulator.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_LOWERING_THREADFUNCTION_H
#define LLMMEM_LIB_EMULATION_LOWERING_THREADFUNCTION_H

#include "EmulatedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace llmmem {

/// Numbers the words of a thread (include/llmmem/Emulation/Hooks.h).
enum ThreadWord : int64_t {
  kThread = 0,
  kBlock = 3,
  kBlockSize = 6,
  kGridSize = 9,
  kShared = 12,
  kDynamicBytes = 13
};

constexpr int64_t kWarp = 32;

class ThreadFunction {
protected:
  ThreadFunction(mlir::MLIRContext *context, const mlir::LLVMTypeConverter &types)
      : types(types), builder(context), pointer(mlir::LLVM::LLVMPointerType::get(context)),
        integer(builder.getI64Type()) {}

  mlir::Value cast(mlir::Type type, mlir::Value value) {
    return mlir::UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  }
  mlir::Value integerConstant(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  mlir::Value i32Constant(int32_t value) {
    return mlir::arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  mlir::Value toInteger(mlir::Value index) {
    return mlir::arith::IndexCastOp::create(builder, loc, integer, index);
  }
  mlir::Value toIndex(mlir::Value number) {
    return mlir::arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
  }

  mlir::Value wordAddress(mlir::Value base, int64_t number);
  /// It is loaded once, at the kernel's entry.
  mlir::Value threadWord(int64_t number, mlir::Type type);
  /// Return `count` words of 32 bits on the thread's stack, allocated once, and one of them.
  mlir::Value entryWords(int64_t count);
  mlir::Value wordOfStack(mlir::Value words, int32_t number) {
    return mlir::LLVM::GEPOp::create(builder, loc, pointer, builder.getI32Type(), words,
                                     llvm::ArrayRef<mlir::LLVM::GEPArg>{number});
  }
  mlir::func::CallOp callHook(llvm::StringRef name, mlir::ValueRange operands,
                              mlir::TypeRange results = {});

  /// Returns x + width (y + height z), from which lanes and warps are numbered.
  mlir::Value linearThread();
  /// Returns the value of an op that gives a number of the thread or of the launch; null for other
  /// ops.
  mlir::Value threadIndexOf(mlir::Operation *op);
  /// Returns the block's number in its cluster, whose blocks are neighbours along x.
  mlir::Value clusterRank();
  mlir::Value sharedMemory(int64_t offset, mlir::MemRefType type);
  /// Store the thread's sums of wgmma on the stack, and replace the op that they are the result of.
  mlir::Value storeSums(mlir::Value sums, int64_t count);
  void replaceBySums(mlir::Operation *product, mlir::Value stored, int64_t count);

  const mlir::LLVMTypeConverter &types;
  mlir::OpBuilder builder;
  mlir::LLVM::LLVMPointerType pointer;
  mlir::IntegerType integer;
  mlir::Location loc = builder.getUnknownLoc();
  mlir::func::FuncOp function;
  mlir::Operation *entryEnd =
      nullptr; // An insertion point: words of the thread are loaded before it.
  llvm::DenseMap<int64_t, mlir::Value> words;
  int64_t clusterBlocks = 1;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EMULATION_LOWERING_THREADFUNCTION_H
