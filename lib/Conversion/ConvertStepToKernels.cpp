//===- ConvertStepToKernels.cpp - A planned step becomes calls of kernels --===//
//
// All equal ops share one kernel: an op and its recomputations run literally the same code, so
// recomputing changes no bit, and twelve equal layers compile once.
//
//===----------------------------------------------------------------------===//

#include "DeviceStep.h"
#include "FillDead.h"
#include "HostCopyCalls.h"
#include "Profile.h"
#include "SharedLaunches.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Emitter/Loops.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "llmmem/Layout/DeadRanges.h"
#include "llmmem/Layout/StepPlaces.h"
#include "llmmem/Targets/Targets.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include <array>
#include <deque>

namespace llmmem {
#define GEN_PASS_DEF_CONVERTSTEPTOKERNELS
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// Puts all elements of a tensor in one dimension; as bytes where they have fewer bits.
static MemRefType flatType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  if (llm::isPacked(type.getElementType()))
    return MemRefType::get({bytesOfType(type)}, IntegerType::get(type.getContext(), 8));
  return MemRefType::get({type.getNumElements()}, type.getElementType());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// Holds the kernels of a module, one for each distinct op.
class Kernels {
public:
  Kernels(ModuleOp module, KernelOptions options)
      : module(module), symbols(module), options(options) {}

  FailureOr<func::FuncOp> kernelOf(Operation &op, const std::optional<Workspace> &workspace) {
    FunctionType type = kernelType(op, workspace);
    Attribute key = KernelIdentity::of(&op).codeKey();
    KernelOptions own = options;
    if (llm::runsOnHost(&op)) {
      own.target = KernelTarget::Cpu;
      key = ArrayAttr::get(op.getContext(), {key, UnitAttr::get(op.getContext())});
    }
    if (func::FuncOp known = kernels.lookup(key))
      return known;
    auto emission = dyn_cast<KernelOpInterface>(op);
    if (!emission) {
      op.emitOpError("has no kernel; implement KernelOpInterface for it");
      return failure();
    }
    func::FuncOp kernel = create(op, type, nameOf(op));
    KernelEmitter emitter(&op, &kernel.front(), own);
    if (failed(emission.emitKernel(emitter)))
      return failure();
    func::ReturnOp::create(emitter.builder(), op.getLoc());
    if (own.target == KernelTarget::Gpu && failed(checkDeviceKernel(&op, kernel)))
      return failure();
    kernels[key] = kernel;
    return kernel;
  }

  /// Returns the kind of op; for a group the kinds of its ops: `linear_gelu`.
  static std::string nameOf(Operation &op) {
    std::string name = kernelKind(&op);
    std::replace(name.begin(), name.end(), '+', '_');
    return name;
  }

  /// Returns the kernel that computes several ops in one launch.
  FailureOr<func::FuncOp> kernelOf(const OpRun &run, const RunValues &buffers) {
    Operation *first = run.front();
    MLIRContext *context = first->getContext();
    SmallVector<Type> types = llvm::map_to_vector(
        buffers.values, [](Value value) -> Type { return flatType(value.getType()); });
    auto type = FunctionType::get(context, types, {});
    SmallVector<Attribute> keys = {TypeAttr::get(type)};
    for (Operation *op : run)
      keys.push_back(KernelIdentity::of(op).codeKey());
    Attribute key = ArrayAttr::get(context, keys);
    if (func::FuncOp known = kernels.lookup(key))
      return known;
    std::string what = (first->getName().stripDialect() + "_of_" + Twine(run.size())).str();
    func::FuncOp kernel = create(*first, type, what);
    auto buffer = [&](unsigned number) -> Buffer {
      auto memref = cast<MemRefType>(types[number]);
      return {kernel.getArgument(number), memref.getNumElements(), memref.getElementType()};
    };
    SmallVector<OpBuffers> ops;
    for (auto [operands, results] : llvm::zip(buffers.operands, buffers.results))
      ops.push_back({llvm::map_to_vector(operands, buffer), llvm::map_to_vector(results, buffer)});
    KernelEmitter emitter(first, &kernel.front(), options);
    if (failed(cast<KernelOpInterface>(first).emitSharedLaunch(emitter, ops)))
      return failure();
    func::ReturnOp::create(emitter.builder(), first->getLoc());
    if (failed(checkDeviceKernel(first, kernel)))
      return failure();
    return kernels[key] = kernel;
  }

  /// Returns the kernel that copies a value of `value`'s type: on a GPU only launches move bytes.
  func::FuncOp copyKernelOf(Value value) {
    MemRefType buffer = flatType(value.getType());
    Attribute key = TypeAttr::get(buffer);
    if (func::FuncOp known = kernels.lookup(key))
      return known;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto same = llm::ReshapeOp::create(builder, value.getLoc(), value.getType(), value);
    func::FuncOp kernel = create(*same, builder.getFunctionType({buffer, buffer}, {}), "copy");
    KernelEmitter e(same, &kernel.front(), options);
    forLanesParallel(e, buffer.getNumElements(), [&](Index i, unsigned lanes) {
      e.storeRaw(e.result(0), i, e.loadRaw(e.operand(0), i, lanes));
    });
    func::ReturnOp::create(e.builder(), value.getLoc());
    same.erase();
    return kernels[key] = kernel;
  }

  KernelTarget target() const { return options.target; }
  bool isForDevice() const { return target() == KernelTarget::Gpu; }

  size_t size() const { return kernels.size(); }

  auto functions() { return llvm::make_second_range(kernels); }

private:
  static FunctionType kernelType(Operation &op, const std::optional<Workspace> &workspace) {
    SmallVector<Type> types;
    for (Type type : op.getOperandTypes())
      types.push_back(flatType(type));
    for (Type type : op.getResultTypes())
      types.push_back(flatType(type));
    auto cost = dyn_cast<CostOpInterface>(op);
    int64_t bytes = cost ? cost.getWorkspaceBytes() : 0;
    if (workspace && bytes > 0)
      types.push_back(MemRefType::get({bytes}, IntegerType::get(op.getContext(), 8)));
    types.append(randomOps(&op).size(), IntegerType::get(op.getContext(), 64));
    return FunctionType::get(op.getContext(), types, {});
  }

  func::FuncOp create(Operation &op, FunctionType type, StringRef what) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    std::string name = ("kernel_" + Twine(kernels.size()) + "_" + what).str();
    auto kernel = func::FuncOp::create(builder, op.getLoc(), name, type);
    kernel.setPrivate();
    symbols.insert(kernel);
    kernel.addEntryBlock();
    // An inlined kernel would be optimised for its call site, and compiled once for each call.
    kernel->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
    return kernel;
  }

  ModuleOp module;
  SymbolTable symbols;
  KernelOptions options;
  llvm::DenseMap<Attribute, func::FuncOp> kernels;
};

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Builds the lowered step next to the planned one.
class StepBuilder {
public:
  StepBuilder(func::FuncOp step, const StepPlaces &places, Kernels &kernels, bool profile)
      : step(step), places(places), kernels(kernels), profile(profile), numbers(step, places),
        builder(step.getContext()) {}

  LogicalResult build(bool poison) {
    createFunction();
    llvm::DenseMap<Operation *, SmallVector<DeadRange>> dead;
    if (poison)
      dead = findDeadRanges(step, places);
    llvm::DenseMap<Operation *, OpRun> shared;
    if (kernels.isForDevice())
      shared = findSharedLaunches(step, places);
    for (Operation &op : step.getBody().front().without_terminator()) {
      auto run = shared.find(&op);
      if (auto wait = dyn_cast<llm::WaitOp>(op); wait && failed(emitWait(wait)))
        return failure();
      if (llm::isHostCopy(&op))
        emitCopyOf(op);
      else if (!isViewOp(&op) && failed(run == shared.end() ? emitCall(op) : emitCall(run->second)))
        return failure();
      for (DeadRange range : dead.lookup(&op))
        emitFill(builder, op.getLoc(),
                 view(op.getLoc(), {std::nullopt, range.offset, range.onHost},
                      MemRefType::get({range.bytes}, builder.getI8Type())));
    }
    if (profile && kernels.isForDevice())
      emitMark(builder, step.getLoc(), calls);
    if (failed(emitCopiesOfResults()))
      return failure();
    func::ReturnOp::create(builder, step.getLoc());
    return success();
  }

  func::FuncOp lowered() const { return function; }
  unsigned numCalls() const { return calls; }

private:
  void createFunction() {
    SmallVector<Type> types;
    // memref.view needs a source, even if all values lie in arguments.
    types.push_back(
        MemRefType::get({std::max<int64_t>(places.arenaBytes(), 1)}, builder.getI8Type()));
    for (Type type : step.getArgumentTypes())
      types.push_back(flatType(type));
    for (auto [number, type] : llvm::enumerate(step.getResultTypes()))
      if (!places.donatedArgument(number))
        types.push_back(flatType(type));
    if (places.hostArenaBytes() > 0)
      types.push_back(MemRefType::get({places.hostArenaBytes()}, builder.getI8Type()));
    if (profile && !kernels.isForDevice())
      types.push_back(MemRefType::get({2 * countCalls()}, builder.getI64Type()));
    builder.setInsertionPoint(step);
    function = func::FuncOp::create(builder, step.getLoc(), step.getName(),
                                    builder.getFunctionType(types, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  int64_t countCalls() {
    return llvm::count_if(step.getBody().front().without_terminator(),
                          [](Operation &op) { return !isViewOp(&op) || isa<llm::WaitOp>(op); });
  }

  /// The device's arena is the first argument; the host's follows the results.
  Value arenaOf(const Place &place) {
    unsigned last = function.getNumArguments() - 1;
    bool hasTimes = profile && !kernels.isForDevice();
    return function.getArgument(place.onHost ? last - hasTimes : 0);
  }

  /// Returns a part of an arena as `type`; views of one place and type are one value.
  Value view(Location loc, const Place &place, MemRefType type) {
    Value &known = views[place.onHost][{place.offset, type}];
    if (!known) {
      Value shift = arith::ConstantIndexOp::create(builder, loc, place.offset);
      known = memref::ViewOp::create(builder, loc, type, arenaOf(place), shift, ValueRange());
    }
    return known;
  }

  Value bufferAt(Location loc, Place place, Type tensor) {
    if (place.argument)
      return function.getArgument(1 + *place.argument);
    return view(loc, place, flatType(tensor));
  }

  /// A copy is a call of the runtime, whether it is started or not.
  void emitCopyOf(Operation &op) {
    Location loc = op.getLoc();
    Value operand = op.getOperand(0);
    Value from = bufferAt(loc, places.placeOf(operand), operand.getType());
    Value to = bufferAt(loc, places.placeOf(op.getResult(0)), op.getResultTypes()[0]);
    emitTimeOfCall(loc, 0);
    func::CallOp call = emitHostCopy(builder, op, from, to, kernels.target());
    finishCall(op, call);
    if (kernels.isForDevice())
      describeBuffers(call, {numbers.of(operand), numbers.of(op.getResult(0))}, /*writes=*/{1});
    if (llm::isStarted(&op))
      startedOf(op).push_back(&op);
  }

  /// With a profile, the call of the runtime is timed and described.
  void finishCall(Operation &op, func::CallOp call) {
    emitTimeOfCall(op.getLoc(), 1);
    if (profile)
      call->setAttr(llm::LlmDialect::kProfile, describeCall(op));
    ++calls;
  }

  std::deque<Operation *> &startedOf(Operation &start) {
    return started[static_cast<size_t>(llm::queueOf(&start))];
  }

  LogicalResult emitCall(Operation &op) {
    std::optional<Workspace> workspace = plannedWorkspace(&op);
    FailureOr<func::FuncOp> kernel = kernels.kernelOf(op, workspace);
    if (failed(kernel))
      return failure();
    SmallVector<Value> arguments;
    for (Value operand : op.getOperands())
      arguments.push_back(bufferAt(op.getLoc(), places.placeOf(operand), operand.getType()));
    for (OpResult result : op.getResults())
      arguments.push_back(bufferAt(op.getLoc(), places.placeOf(result), result.getType()));
    SmallVector<Operation *> random = randomOps(&op);
    if (kernel->getNumArguments() > arguments.size() + random.size())
      arguments.push_back(view(op.getLoc(), {std::nullopt, workspace->offset},
                               cast<MemRefType>(kernel->getArgumentTypes()[arguments.size()])));
    for (Operation *samples : random) {
      StringRef name = cast<RandomOpInterface>(samples).getStreamAttrName();
      auto stream = samples->getAttrOfType<IntegerAttr>(name);
      arguments.push_back(arith::ConstantOp::create(builder, op.getLoc(), stream));
    }
    std::optional<OpBuilder::InsertionGuard> inStart;
    bool isUpdateOnHost = kernels.isForDevice() && llm::runsOnHost(&op);
    if (llm::isStarted(&op) && !isUpdateOnHost) {
      // Marks are on the step's stream, so the time of a start is that of its launch.
      if (kernels.isForDevice())
        emitTimeOfCall(op.getLoc(), 0);
      beginStart(op, inStart);
    }
    auto call = emitCall(op.getLoc(), *kernel, arguments, [&] { return describeCall(op); });
    if (kernels.isForDevice())
      describeBuffers(op, call, numbers);
    if (isUpdateOnHost)
      markHostUpdate(op, call);
    return success();
  }

  /// Describes the call for a GPU (Codegen/Gpu/HostCopyCalls.h).
  void markHostUpdate(Operation &op, func::CallOp call) {
    call->setAttr(llm::LlmDialect::kOnHost, builder.getUnitAttr());
    if (!llm::isStarted(&op))
      return;
    call->setAttr(llm::LlmDialect::kStarted, builder.getUnitAttr());
    startedOf(op).push_back(&op);
  }

  /// The thread of communication, or that of updates on the host, runs what is emitted until
  /// `inStart` ends: the call of what is started, and the clock around it.
  void beginStart(Operation &op, std::optional<OpBuilder::InsertionGuard> &inStart) {
    auto loop = scf::ForallOp::create(builder, op.getLoc(), {builder.getIndexAttr(1)},
                                      /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
    loop->setAttr(llm::LlmDialect::kStarted, builder.getUnitAttr());
    if (llm::runsOnHost(&op))
      loop->setAttr(llm::LlmDialect::kOnHost, builder.getUnitAttr());
    inStart.emplace(builder);
    builder.setInsertionPointToStart(loop.getBody());
    startedOf(op).push_back(&op);
  }

  LogicalResult emitWait(llm::WaitOp wait) {
    Operation &start = *wait.getStart();
    std::deque<Operation *> &flights = startedOf(start);
    if (flights.empty() || flights.front() != &start)
      return wait.emitOpError(
          "is not the wait for the first start that nothing has waited for yet; "
          "run verify-plan");
    flights.pop_front();
    emitTimeOfCall(wait.getLoc(), 0);
    finishCall(*wait, llm::queueOf(&start) == llm::StartQueue::Network
                          ? emitStartedWait(builder, wait.getLoc())
                          : emitHostWait(builder, start, kernels.target()));
    return success();
  }

  /// With a profile, the call is timed and described by `record`.
  func::CallOp emitCall(Location loc, func::FuncOp kernel, ValueRange arguments,
                        function_ref<DictionaryAttr()> record) {
    emitTimeOfCall(loc, 0);
    auto call = func::CallOp::create(builder, loc, kernel, arguments);
    emitTimeOfCall(loc, 1);
    if (profile)
      call->setAttr(llm::LlmDialect::kProfile, record());
    ++calls;
    return call;
  }

  /// Emits nothing for an op that runs in the launch of an earlier one.
  LogicalResult emitCall(const OpRun &run) {
    if (run.empty())
      return success();
    RunValues buffers(run, places);
    FailureOr<func::FuncOp> kernel = kernels.kernelOf(run, buffers);
    if (failed(kernel))
      return failure();
    Location loc = run.front()->getLoc();
    SmallVector<Value> arguments;
    SmallVector<int64_t> values, writes;
    for (auto [value, isWritten] : llvm::zip(buffers.values, buffers.isWritten)) {
      if (isWritten)
        writes.push_back(arguments.size());
      values.push_back(numbers.of(value));
      arguments.push_back(bufferAt(loc, places.placeOf(value), value.getType()));
    }
    auto call = emitCall(loc, *kernel, arguments, [&] { return describeCall(run); });
    describeBuffers(call, values, writes);
    return success();
  }

  /// Emits the time before (0) or after (1) the current call. On a GPU the end of a call is the
  /// beginning of the next.
  void emitTimeOfCall(Location loc, int64_t side) {
    bool isParallel = isa<scf::ForallOp>(builder.getInsertionBlock()->getParentOp());
    if (profile && kernels.isForDevice() && side == 0 && !isParallel)
      emitMark(builder, loc, calls);
    if (profile && !kernels.isForDevice())
      emitTime(builder, loc, function.getArguments().back(), int64_t{2} * calls + side);
  }

  /// Results that already lie in the argument they are donated to stay; the others are copied.
  /// Those that are not donated go first, because they may lie in an argument that a later copy
  /// overwrites.
  LogicalResult emitCopiesOfResults() {
    auto returned = cast<func::ReturnOp>(step.getBody().front().getTerminator());
    unsigned next = 1 + step.getNumArguments();
    for (bool donated : {false, true})
      for (auto [number, value] : llvm::enumerate(returned.getOperands())) {
        std::optional<unsigned> argument = places.donatedArgument(number);
        if (argument.has_value() != donated)
          continue;
        Place place = places.placeOf(value);
        if (place.argument && place.argument == argument)
          continue;
        if (kernels.isForDevice() && llm::isOnHost(value.getType()))
          return returned.emitOpError("returns operand ")
                 << number << ", which lies on the host and not in the argument that it is donated "
                 << "to; of a GPU, whose kernels copy results, expected an 'llm.copy_down' of it";
        Value target = function.getArgument(argument ? 1 + *argument : next++);
        emitCopy(value, bufferAt(step.getLoc(), place, value.getType()), target,
                 argument ? *argument : numbers.fresh());
      }
    return success();
  }

  void emitCopy(Value value, Value from, Value to, int64_t number) {
    if (!kernels.isForDevice()) {
      memref::CopyOp::create(builder, step.getLoc(), from, to);
      return;
    }
    auto call = func::CallOp::create(builder, step.getLoc(), kernels.copyKernelOf(value),
                                     ValueRange{from, to});
    describeBuffers(call, {numbers.of(value), number}, {1});
  }

  func::FuncOp step;
  const StepPlaces &places;
  Kernels &kernels;
  bool profile;
  ValueNumbers numbers;
  OpBuilder builder;
  func::FuncOp function;
  std::array<llvm::DenseMap<std::pair<int64_t, Type>, Value>, 2> views; // Those of both arenas.
  std::array<std::deque<Operation *>, llm::kStartQueues> started;       // Those that nothing has
                                                                        // waited for.
  unsigned calls = 0;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct ConvertStepToKernels : public llmmem::impl::ConvertStepToKernelsBase<ConvertStepToKernels> {
  using ConvertStepToKernelsBase::ConvertStepToKernelsBase;

  /// A host program may have loaded the pass alone, as plugins are.
  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertStepToKernelsBase::getDependentDialects(registry);
    registerTargets(registry);
    registerKernelModels(registry);
  }

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!step || step.isExternal()) {
      getOperation().emitError("has no function '") << function << "' to convert";
      return signalPassFailure();
    }
    if (failed(checkSizes(step)) || failed(checkTypes(step)) || failed(checkTarget(step)))
      return signalPassFailure();
    FailureOr<StepPlaces> places = StepPlaces::read(step);
    FailureOr<llm::TileLimits> limits = tileLimits();
    if (failed(places) || failed(limits))
      return signalPassFailure();
    Kernels kernels(getOperation(), {.products = products,
                                     .bf16ByLibrary = bf16ByLibrary,
                                     .target = target,
                                     .tensorCores = tensorCores,
                                     .tiles = *limits});
    StepBuilder builder(step, *places, kernels, profile);
    if (failed(builder.build(poison)))
      return signalPassFailure();
    if (failed(checkLegal(builder.lowered(), kernels)))
      return signalPassFailure();
    step.erase();
    numKernels = kernels.size();
    numCalls = builder.numCalls();
  }

  /// Lists what a lowered step and its kernels consist of. (Later passes lower each of these
  /// dialects.)
  static void populateLegal(ConversionTarget &target) {
    target
        .addLegalDialect<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                         math::MathDialect, memref::MemRefDialect, nvgpu::NVGPUDialect,
                         NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
    target.addLegalOp<llm::LibraryProductOp>();
  }

  /// Fails at remaining ops that no later pass lowers.
  LogicalResult checkLegal(func::FuncOp lowered, Kernels &kernels) {
    ConversionTarget target(getContext());
    populateLegal(target);
    auto check = [&](func::FuncOp function) {
      return function.walk([&](Operation *op) {
        if (target.isLegal(op))
          return WalkResult::advance();
        op->emitOpError("is left in the lowered '")
            << function.getSymName()
            << "'; expected ops of arith, func, gpu, llvm, math, memref, nvvm, scf and vector "
               "alone: "
               "its KernelOpInterface must emit nothing else";
        return WalkResult::interrupt();
      });
    };
    if (check(lowered).wasInterrupted())
      return failure();
    bool isLegal = llvm::none_of(
        kernels.functions(), [&](func::FuncOp kernel) { return check(kernel).wasInterrupted(); });
    return success(isLegal);
  }

  FailureOr<llm::TileLimits> tileLimits() {
    llm::TileLimits limits{.sharing = tileSharing};
    if (tile.empty())
      return limits;
    limits.only = llm::warpgroupTileOf(tile.getValue());
    if (!limits.only)
      return getOperation().emitError("cannot be converted with tile=")
             << tile << ": products by wgmma have no such tiles; " << llm::expectedTiles();
    return limits;
  }

  LogicalResult checkTarget(func::FuncOp step) {
    if (target == KernelTarget::Cpu || !poison)
      return success();
    return step.emitError("cannot be converted with 'poison' for target=gpu, where the host does "
                          "nothing but launch");
  }

  static LogicalResult checkTypes(func::FuncOp step) {
    auto isStatic = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.hasStaticShape() && !llvm::is_contained(tensor.getShape(), 0) &&
             tensor.getElementType().isIntOrFloat();
    };
    if (!llvm::all_of(step.getArgumentTypes(), isStatic) ||
        !llvm::all_of(step.getResultTypes(), isStatic))
      return step.emitError(
          "has an argument or a result that is not a tensor of static shape, or is empty");
    for (Operation &op : step.getBody().front().without_terminator())
      if (!llvm::all_of(op.getOperandTypes(), isStatic) ||
          !llvm::all_of(op.getResultTypes(), isStatic))
        return op.emitOpError(
            "reads or writes something that is not a tensor of static shape, or is empty");
    return success();
  }
};
} // namespace
