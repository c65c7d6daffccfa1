//===- HostUpdates.cpp - Kernels that the host runs for a GPU -------------===//

#include "llmmem/Codegen/Gpu/HostUpdates.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace llmmem;

/// Returns the buffer whose address is word `number`.
static Value bufferAt(OpBuilder &builder, Location loc, Value words, int32_t number,
                      MemRefType type) {
  LLVMTypeConverter types(builder.getContext());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value place =
      LLVM::GEPOp::create(builder, loc, pointer, pointer, words, ArrayRef<LLVM::GEPArg>{number});
  Value address = LLVM::LoadOp::create(builder, loc, pointer, place);
  Value buffer = MemRefDescriptor::fromStaticShape(builder, loc, types, type, address);
  return UnrealizedConversionCastOp::create(builder, loc, type, buffer).getResult(0);
}

func::FuncOp llmmem::wordsEntryOf(func::FuncOp kernel) {
  std::string name = (kernel.getName() + "_of_words").str();
  auto module = kernel->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto entry = func::FuncOp::create(builder, loc, name, builder.getFunctionType({pointer}, {}));
  entry.setPrivate();
  builder.setInsertionPointToStart(entry.addEntryBlock());
  SmallVector<Value> buffers;
  for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes()))
    buffers.push_back(bufferAt(builder, loc, entry.getArgument(0), static_cast<int32_t>(number),
                               cast<MemRefType>(type)));
  func::CallOp::create(builder, loc, kernel, buffers);
  func::ReturnOp::create(builder, loc);
  return entry;
}

Value llmmem::addressOfWordsEntry(OpBuilder &builder, Location loc, func::FuncOp kernel) {
  func::FuncOp entry = wordsEntryOf(kernel);
  Value function =
      func::ConstantOp::create(builder, loc, entry.getFunctionType(), entry.getSymName());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return UnrealizedConversionCastOp::create(builder, loc, pointer, function).getResult(0);
}
