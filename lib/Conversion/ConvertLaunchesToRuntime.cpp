//===- ConvertLaunchesToRuntime.cpp - Launches become calls of the runtime --===//

#include "Profile.h"
#include "TensorMaps.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Codegen/Gpu/HostUpdates.h"
#include "llmmem/Conversion/LibraryCalls.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Runtime/CudaProducts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <cstring>

namespace llmmem {
#define GEN_PASS_DEF_CONVERTLAUNCHESTORUNTIME
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
/// Emits the calls of include/llmmem/Runtime/Cuda.h.
class RuntimeCalls {
public:
  explicit RuntimeCalls(ModuleOp module)
      : module(module), builder(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  Type runType() const { return pointer; }

  void replace(gpu::LaunchFuncOp launch, unsigned kernel, ArrayRef<llmmem_tensor_map> maps) {
    Location loc = launch.getLoc();
    builder.setInsertionPoint(launch);
    SmallVector<Value> operands = {runOf(launch), word(loc, kernel)};
    gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                    block = launch.getBlockSizeOperandValues();
    for (Value extent : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
      operands.push_back(asWord(extent));
    Value shared = launch.getDynamicSharedMemorySize();
    operands.push_back(shared ? asWord(shared) : word(loc, 0));
    operands.push_back(storeWords(launch, launch.getKernelOperands()));
    operands.push_back(word(loc, launch.getNumKernelOperands()));
    if (!maps.empty()) {
      operands.push_back(storeWords(launch, wordsOf(loc, maps)));
      operands.push_back(word(loc, static_cast<int64_t>(maps.size())));
    }
    call(loc, maps.empty() ? "llmmem_cuda_launch" : "llmmem_cuda_launch_mapped", operands);
    launch.erase();
  }

  /// Packs the words of an llmmem_product: constants and addresses.
  void replace(llm::LibraryProductOp op, int64_t number) {
    Location loc = op.getLoc();
    builder.setInsertionPoint(op);
    llmmem_product product = constantsOf(op);
    product.number = number;
    int64_t constants[sizeof product / sizeof(int64_t)];
    std::memcpy(constants, &product, sizeof product);
    SmallVector<Value> words;
    for (int64_t constant : constants)
      words.push_back(word(loc, constant));
    auto place = [&](size_t offset, Value buffer, Value begin = Value()) {
      if (buffer)
        words[offset / sizeof(int64_t)] = addressOf(buffer, begin);
    };
    place(offsetof(llmmem_product, a), op.getABuffer(), op.getABegin());
    place(offsetof(llmmem_product, b), op.getBBuffer(), op.getBBegin());
    place(offsetof(llmmem_product, c), op.getCBuffer(), op.getCBegin());
    place(offsetof(llmmem_product, initial), op.getInitialBuffer(), op.getInitialBegin());
    place(offsetof(llmmem_product, bias), op.getBias());
    place(offsetof(llmmem_product, aux), op.getAux());
    place(offsetof(llmmem_product, workspace), op.getWorkspace());
    call(loc, "llmmem_cuda_multiply", {runOf(op), storeWords(op, words)});
    op.erase();
  }

  /// Replaces an update on the host.
  void replace(func::CallOp update) {
    Location loc = update.getLoc();
    builder.setInsertionPoint(update);
    auto kernel = module.lookupSymbol<func::FuncOp>(update.getCallee());
    bool isStarted = update->hasAttr(llm::LlmDialect::kStarted);
    call(loc, isStarted ? kDeviceUpdateStart : kDeviceUpdate,
         {runOf(update), addressOfWordsEntry(builder, loc, kernel),
          storeWords(update, update.getOperands()), word(loc, update.getNumOperands())});
    update.erase();
  }

  void replace(memref::CopyOp copy) {
    builder.setInsertionPoint(copy);
    auto type = cast<MemRefType>(copy.getTarget().getType());
    int64_t bytes = bytesOfBuffer(type);
    call(copy.getLoc(), "llmmem_cuda_copy",
         {runOf(copy), asWord(copy.getTarget()), asWord(copy.getSource()),
          word(copy.getLoc(), bytes)});
    copy.erase();
  }

private:
  Value addressOf(Value buffer, Value begin) {
    Value address = asWord(buffer);
    if (!begin)
      return address;
    int64_t width = bytesOfNumber(cast<MemRefType>(buffer.getType()).getElementType());
    Location loc = buffer.getLoc();
    Value bytes = arith::MulIOp::create(builder, loc, asWord(begin), word(loc, width));
    return arith::AddIOp::create(builder, loc, address, bytes);
  }

  /// Returns the run, which is the first argument of each function that launches.
  static Value runOf(Operation *op) { return op->getParentOfType<func::FuncOp>().getArgument(0); }

  SmallVector<Value> wordsOf(Location loc, ArrayRef<llmmem_tensor_map> maps) {
    SmallVector<int64_t> words(maps.size() * LLMMEM_TENSOR_MAP_WORDS);
    std::memcpy(words.data(), maps.data(), words.size() * sizeof(int64_t));
    return llvm::map_to_vector(words, [&](int64_t number) { return word(loc, number); });
  }

  Value word(Location loc, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }

  /// Puts a kernel's argument into the low bytes of 64 bits, where the driver reads it.
  Value asWord(Value value) {
    Location loc = value.getLoc();
    Type type = value.getType(), wordType = builder.getI64Type();
    if (isa<MemRefType>(type))
      return asWord(memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, value));
    if (type.isIndex())
      return arith::IndexCastOp::create(builder, loc, wordType, value);
    if (isa<FloatType>(type)) {
      Type bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
      return asWord(arith::BitcastOp::create(builder, loc, bits, value));
    }
    return type == wordType ? value
                            : arith::ExtUIOp::create(builder, loc, wordType, value).getResult();
  }

  /// Stores addresses and numbers in consecutive words on the stack.
  Value storeWords(Operation *op, ValueRange values) {
    Location loc = op->getLoc();
    Type wordType = builder.getI64Type();
    Value words;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().getBody().front());
      words = LLVM::AllocaOp::create(builder, loc, pointer, wordType,
                                     word(loc, std::max<size_t>(1, values.size())));
    }
    for (auto [number, value] : llvm::enumerate(values)) {
      Value bits = asWord(value);
      Value place = LLVM::GEPOp::create(builder, loc, pointer, wordType, words,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
      LLVM::StoreOp::create(builder, loc, bits, place);
    }
    return words;
  }

  void call(Location loc, StringRef name, ArrayRef<Value> operands) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      auto type = top.getFunctionType(TypeRange(operands), {});
      function = func::FuncOp::create(top, module.getLoc(), name, type);
      function.setPrivate();
    }
    func::CallOp::create(builder, loc, function, operands);
  }

  ModuleOp module;
  OpBuilder builder;
  Type pointer;
};

struct ConvertLaunchesToRuntime
    : public llmmem::impl::ConvertLaunchesToRuntimeBase<ConvertLaunchesToRuntime> {
  using ConvertLaunchesToRuntimeBase::ConvertLaunchesToRuntimeBase;

  void runOnOperation() override {
    if (failed(checkSizes(getOperation())))
      return signalPassFailure();
    RuntimeCalls runtime(getOperation());
    SmallVector<func::CallOp> updates;
    getOperation().walk([&](func::CallOp call) {
      if (isHostUpdate(call))
        updates.push_back(call);
    });
    onHost.clear();
    for (func::CallOp update : updates)
      onHost.insert(update.getCallee());
    handRunToFunctions(runtime.runType());
    for (func::CallOp update : updates)
      runtime.replace(update);
    llvm::MapVector<SymbolRefAttr, unsigned> kernels;
    SmallVector<gpu::LaunchFuncOp> launches;
    getOperation().walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    for (gpu::LaunchFuncOp launch : launches) {
      FailureOr<SmallVector<llmmem_tensor_map>> maps = mapsOf(launch);
      if (failed(check(launch)) || failed(maps))
        return signalPassFailure();
      unsigned next = kernels.size();
      runtime.replace(launch, kernels.insert({launch.getKernel(), next}).first->second, *maps);
    }
    replaceMatmuls(runtime);
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](memref::CopyOp copy) {
      if (!onHost.contains(copy->getParentOfType<func::FuncOp>().getName()))
        copies.push_back(copy);
    });
    for (memref::CopyOp copy : copies)
      runtime.replace(copy);
    SmallVector<Attribute> names;
    for (auto &[name, number] : kernels)
      names.push_back(name);
    getOperation()->setAttr(llm::LlmDialect::kKernels, ArrayAttr::get(&getContext(), names));
    numKernels = kernels.size();
    numLaunches = launches.size();
  }

  /// Until they are lowered, kernels say which tensor maps they take.
  static FailureOr<SmallVector<llmmem_tensor_map>> mapsOf(gpu::LaunchFuncOp launch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernel());
    if (!kernel)
      return SmallVector<llmmem_tensor_map>();
    return tensorMapsOf(kernel);
  }

  void replaceMatmuls(RuntimeCalls &runtime) {
    SmallVector<llm::LibraryProductOp> products;
    getOperation().walk([&](llm::LibraryProductOp product) { products.push_back(product); });
    SmallVector<Attribute> locations;
    for (llm::LibraryProductOp product : products) {
      locations.push_back(product.getLoc());
      runtime.replace(product, locations.size() - 1);
    }
    if (!locations.empty())
      getOperation()->setAttr(llm::LlmDialect::kLibraryCalls,
                              ArrayAttr::get(&getContext(), locations));
  }

  /// A step is captured as a graph of launches in order, so async launches gain nothing.
  static LogicalResult check(gpu::LaunchFuncOp launch) {
    if (launch.getAsyncToken() || !launch.getAsyncDependencies().empty() || launch.hasClusterSize())
      return launch.emitOpError(
          "waits for tokens or asks for clusters; expected a launch in order, of a kernel that "
          "names its clusters' size");
    if (failed(verifyClusters(launch)))
      return failure();
    for (Value operand : launch.getKernelOperands()) {
      auto buffer = dyn_cast<MemRefType>(operand.getType());
      if (buffer ? !buffer.hasStaticShape() || !buffer.getLayout().isIdentity()
                 : !operand.getType().isIntOrIndexOrFloat())
        return launch.emitOpError("hands over ")
               << operand.getType() << "; expected a flat static buffer or a number";
    }
    return success();
  }

  /// The runtime defines the function of marks, and those of copies to and from the host.
  bool takesRun(func::FuncOp function) const {
    StringRef name = function.getName();
    if (!function.isExternal())
      return !onHost.contains(name);
    return name == llmmem::kMarkFunction || name == kDeviceUpdateWait || isDeviceHostCopy(name);
  }

  /// Every function with a body may launch, directly or through a call, except for what the host
  /// runs.
  void handRunToFunctions(Type run) {
    SmallVector<func::CallOp> calls;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!takesRun(function))
        continue;
      if (!function.isExternal()) {
        (void)function.insertArgument(0, run, {}, function.getLoc());
      } else {
        SmallVector<Type> types = {run};
        llvm::append_range(types, function.getArgumentTypes());
        function.setType(FunctionType::get(&getContext(), types, {}));
      }
    }
    getOperation().walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = getOperation().lookupSymbol<func::FuncOp>(call.getCallee());
      if (!callee || !takesRun(callee))
        continue;
      Value first = call->getParentOfType<func::FuncOp>().getArgument(0);
      call->insertOperands(0, first);
    }
  }

  llvm::StringSet<> onHost; // Kernels that run there.
};
} // namespace
