//===- OutlineParallelLoops.cpp - Parallel loops become functions of iterations -===//
//
// A loop with `llm.started`, of one iteration, overlaps what follows it (Runtime/Started.h, with
// `llm.on_host` Runtime/HostCopies.h). Values that a loop uses from outside are passed in one
// struct on the stack of the kernel. Constants and tables are cloned into the function, so that
// they stay constants.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/RegionUtils.h"

namespace llmmem {
#define GEN_PASS_DEF_OUTLINEPARALLELLOOPS
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

namespace {

/// Outlines one loop.
class Outlining {
public:
  Outlining(scf::ForallOp loop, const LLVMTypeConverter &types)
      : loop(loop), types(types), loc(loop.getLoc()),
        pointer(LLVM::LLVMPointerType::get(loop.getContext())),
        integer(IntegerType::get(loop.getContext(), 64)) {}

  void outline(StringRef name) {
    sinkConstants();
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    captured = used.takeVector();
    SmallVector<Type> fields;
    for (Value value : captured)
      fields.push_back(fieldType(value.getType()));
    context = LLVM::LLVMStructType::getLiteral(loop.getContext(), fields);
    createIterations(name);
    createCall(name);
    loop.erase();
  }

private:
  /// Buffers have static shapes, so an address describes them.
  Type fieldType(Type type) {
    return isa<MemRefType>(type) ? Type(pointer) : types.convertType(type);
  }

  Value cast(OpBuilder &builder, Type type, Value value) {
    return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  }

  void sinkConstants() {
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    OpBuilder inside = OpBuilder::atBlockBegin(loop.getBody());
    for (Value value : used)
      if (Operation *source = value.getDefiningOp();
          source && (source->hasTrait<OpTrait::ConstantLike>() || isa<memref::GetGlobalOp>(source)))
        replaceAllUsesInRegionWith(value, inside.clone(*source)->getResult(0), loop.getRegion());
  }

  //===--------------------------------------------------------------------===//
  // The function
  //===--------------------------------------------------------------------===//

  void createIterations(StringRef name) {
    auto kernel = loop->getParentOfType<func::FuncOp>();
    OpBuilder builder(loop.getContext());
    builder.setInsertionPointAfter(kernel);
    auto function = func::FuncOp::create(builder, loc, name,
                                         builder.getFunctionType({pointer, integer, integer}, {}));
    function.setPrivate();
    builder.setInsertionPointToStart(function.addEntryBlock());
    for (auto [number, value] : llvm::enumerate(captured))
      replaceAllUsesInRegionWith(value, unpack(builder, function.getArgument(0), number),
                                 loop.getRegion());
    auto index = [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
    };
    Value begin = index(function.getArgument(1)), end = index(function.getArgument(2));
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto iterations = scf::ForOp::create(builder, loc, begin, end, one);
    func::ReturnOp::create(builder, loc);
    moveBody(function, iterations);
  }

  void moveBody(func::FuncOp function, scf::ForOp iterations) {
    Block *body = loop.getBody();
    body->getTerminator()->erase();
    iterations.getBody()->getOperations().splice(iterations.getBody()->begin(),
                                                 body->getOperations());
    body->getArgument(0).replaceAllUsesWith(iterations.getInductionVar());
    // One allocation on the stack serves all iterations of a thread.
    iterations.walk([&](memref::AllocaOp scratch) {
      scratch->moveBefore(&function.front(), function.front().begin());
    });
  }

  Value fieldAddress(OpBuilder &builder, Value base, unsigned number) {
    return LLVM::GEPOp::create(builder, loc, pointer, context, base,
                               ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(number)});
  }

  Value unpack(OpBuilder &builder, Value base, unsigned number) {
    Type type = captured[number].getType();
    Value field = LLVM::LoadOp::create(builder, loc, context.getBody()[number],
                                       fieldAddress(builder, base, number));
    if (auto buffer = dyn_cast<MemRefType>(type))
      field = MemRefDescriptor::fromStaticShape(builder, loc, types, buffer, field);
    return field.getType() == type ? field : cast(builder, type, field);
  }

  //===--------------------------------------------------------------------===//
  // The call
  //===--------------------------------------------------------------------===//

  void createCall(StringRef name) {
    auto kernel = loop->getParentOfType<func::FuncOp>();
    OpBuilder start = OpBuilder::atBlockBegin(&kernel.front());
    Value one = LLVM::ConstantOp::create(start, loc, integer, 1);
    Value packed = LLVM::AllocaOp::create(start, loc, pointer, context, one);
    OpBuilder builder(loop);
    for (auto [number, value] : llvm::enumerate(captured))
      LLVM::StoreOp::create(builder, loc, pack(builder, value),
                            fieldAddress(builder, packed, number));
    Value count = LLVM::ConstantOp::create(builder, loc, integer, loop.getStaticUpperBound()[0]);
    auto type =
        kernel->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(name).getFunctionType();
    Value iterations = cast(builder, pointer, func::ConstantOp::create(builder, loc, type, name));
    if (!loop->hasAttr(llmmem::llm::LlmDialect::kStarted)) {
      func::CallOp::create(builder, loc, hook("llmmem_parallel_for", {integer, pointer, pointer}),
                           ValueRange{count, iterations, packed});
      return;
    }
    // Every field is an address or a number of 64 bits.
    Value bytes =
        LLVM::ConstantOp::create(builder, loc, integer, 8 * static_cast<int64_t>(captured.size()));
    bool isOnHost = loop->hasAttr(llmmem::llm::LlmDialect::kOnHost);
    StringRef starts = isOnHost ? "llmmem_update_start" : "llmmem_start";
    func::CallOp::create(builder, loc, hook(starts, {pointer, pointer, integer}),
                         ValueRange{iterations, packed, bytes});
  }

  Value pack(OpBuilder &builder, Value value) {
    Type field = fieldType(value.getType());
    if (!isa<MemRefType>(value.getType()))
      return field == value.getType() ? value : cast(builder, field, value);
    MemRefDescriptor buffer(cast(builder, types.convertType(value.getType()), value));
    return buffer.alignedPtr(builder, loc);
  }

  func::FuncOp hook(StringRef name, TypeRange takes) {
    auto module = loop->getParentOfType<ModuleOp>();
    if (auto known = module.lookupSymbol<func::FuncOp>(name))
      return known;
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(top, loc, name, top.getFunctionType(takes, {}));
    function.setPrivate();
    return function;
  }

  scf::ForallOp loop;
  const LLVMTypeConverter &types;
  Location loc;
  LLVM::LLVMPointerType pointer;
  IntegerType integer;
  SmallVector<Value> captured;
  LLVM::LLVMStructType context;
};

struct OutlineParallelLoops : public llmmem::impl::OutlineParallelLoopsBase<OutlineParallelLoops> {
  using OutlineParallelLoopsBase::OutlineParallelLoopsBase;

  void runOnOperation() override {
    LLVMTypeConverter types(&getContext());
    SmallVector<scf::ForallOp> loops;
    getOperation().walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (auto [number, loop] : llvm::enumerate(loops)) {
      if (!isPlain(loop)) {
        loop.emitOpError(
            "is not a loop of one dimension from 0 to a constant, outside of other parallel loops");
        return signalPassFailure();
      }
      std::string name =
          (loop->getParentOfType<func::FuncOp>().getName() + "_iterations_" + Twine(number)).str();
      Outlining(loop, types).outline(name);
    }
  }

  static bool isPlain(scf::ForallOp loop) {
    return loop.getRank() == 1 && loop.isNormalized() && loop.getNumResults() == 0 &&
           loop.getDynamicUpperBound().empty() && !loop->getParentOfType<scf::ForallOp>();
  }
};

} // namespace
