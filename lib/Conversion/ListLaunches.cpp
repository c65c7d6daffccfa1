//===- ListLaunches.cpp - The calls of a GPU in a step's host code ---------===//
//
// This file runs the host code, on places instead of addresses.
//
//===----------------------------------------------------------------------===//

#include "Profile.h"
#include "TensorMaps.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Conversion/LaunchList.h"
#include "llmmem/Conversion/LibraryCalls.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

namespace {
/// Holds what the host knows of a value: a number, or an address within an argument of the step.
struct HostValue {
  std::optional<unsigned> argument;
  int64_t offset = 0;
  Attribute number; // Null means a place.
};
using HostValues = llvm::DenseMap<Value, HostValue>;

/// Holds the values of one call of one function.
class Frame {
public:
  HostValue valueOf(Value value) const {
    auto known = values.find(value);
    return known == values.end() ? HostValue() : known->second;
  }
  void set(Value value, HostValue known) { values[value] = known; }
  void setNumber(Value value, int64_t number) {
    set(value, {std::nullopt, 0, IntegerAttr::get(value.getType(), number)});
  }

  /// Returns it in the low bits of 64, as a kernel's argument is passed.
  std::optional<LaunchWord> wordOf(Value value) const {
    HostValue known = valueOf(value);
    if (known.argument)
      return LaunchWord{known.argument, known.offset};
    if (auto integer = dyn_cast_if_present<IntegerAttr>(known.number))
      return LaunchWord{std::nullopt, static_cast<int64_t>(integer.getValue().getZExtValue())};
    if (auto real = dyn_cast_if_present<FloatAttr>(known.number))
      return LaunchWord{std::nullopt,
                        static_cast<int64_t>(real.getValue().bitcastToAPInt().getZExtValue())};
    return std::nullopt;
  }

  std::optional<int64_t> integerOf(Value value) const {
    auto integer = dyn_cast_if_present<IntegerAttr>(valueOf(value).number);
    return integer ? std::optional(integer.getInt()) : std::nullopt;
  }

private:
  HostValues values;
};

class HostCode {
public:
  FailureOr<LaunchList> run(func::FuncOp step) {
    Frame frame;
    for (BlockArgument argument : step.getArguments())
      frame.set(argument, {argument.getArgNumber(), 0, {}});
    if (failed(run(step.getBody().front(), frame)))
      return failure();
    for (auto &[symbol, number] : kernels)
      list.kernels.emplace_back(symbol.getRootReference().str(), symbol.getLeafReference().str());
    return std::move(list);
  }

private:
  LogicalResult run(Block &block, Frame &frame) {
    for (Operation &op : block)
      if (failed(run(op, frame)))
        return failure();
    return success();
  }

  LogicalResult run(Operation &op, Frame &frame) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<gpu::LaunchFuncOp, llm::LibraryProductOp, memref::CopyOp, memref::ViewOp, scf::ForOp,
              func::CallOp, memref::ExtractAlignedPointerAsIndexOp, arith::IndexCastOp>(
            [&](auto known) { return run(known, frame); })
        .Case<func::ReturnOp, scf::YieldOp>([](auto) { return success(); })
        .Default([&](Operation *) { return compute(op, frame); });
  }

  /// Computes arithmetic on numbers by the folders of its ops.
  LogicalResult compute(Operation &op, Frame &frame) {
    SmallVector<Attribute> operands = llvm::map_to_vector(
        op.getOperands(), [&](Value operand) { return frame.valueOf(operand).number; });
    SmallVector<OpFoldResult> results;
    bool isFolded = succeeded(op.fold(operands, results)) && results.size() == op.getNumResults();
    // What is computed and not passed on remains of a table that kernels have a copy of.
    if (!isFolded && isMemoryEffectFree(&op))
      return success();
    if (!isFolded)
      return op.emitOpError("cannot be listed: expected a launch, a copy, a product of a library, "
                            "or arithmetic on numbers that are known");
    for (auto [result, folded] : llvm::zip_equal(op.getResults(), results)) {
      if (auto same = dyn_cast<Value>(folded))
        frame.set(result, frame.valueOf(same));
      else
        frame.set(result, {std::nullopt, 0, cast<Attribute>(folded)});
    }
    return success();
  }

  LogicalResult run(memref::ViewOp view, Frame &frame) {
    HostValue source = frame.valueOf(view.getSource());
    std::optional<int64_t> shift = frame.integerOf(view.getByteShift());
    if (!source.argument || !shift)
      return view.emitOpError("cannot be listed: it begins at a byte that is not known");
    frame.set(view, {source.argument, source.offset + *shift, {}});
    return success();
  }

  /// An address, as an index too, is the place to which it points.
  LogicalResult run(memref::ExtractAlignedPointerAsIndexOp address, Frame &frame) {
    frame.set(address, frame.valueOf(address.getSource()));
    return success();
  }
  LogicalResult run(arith::IndexCastOp cast, Frame &frame) {
    HostValue known = frame.valueOf(cast.getIn());
    if (!known.argument)
      return compute(*cast, frame);
    frame.set(cast, known);
    return success();
  }

  LogicalResult run(scf::ForOp loop, Frame &frame) {
    std::optional<int64_t> begin = frame.integerOf(loop.getLowerBound()),
                           end = frame.integerOf(loop.getUpperBound()),
                           step = frame.integerOf(loop.getStep());
    if (!begin || !end || !step || *step <= 0 || loop.getNumResults() > 0)
      return loop.emitOpError("cannot be listed: expected constant bounds and no results");
    for (int64_t number = *begin; number < *end; number += *step) {
      frame.setNumber(loop.getInductionVar(), number);
      if (failed(run(*loop.getBody(), frame)))
        return failure();
    }
    return success();
  }

  LogicalResult run(func::CallOp call, Frame &frame) {
    if (call->hasAttr(llm::LlmDialect::kProfile))
      list.profiled.push_back(llvm::map_to_vector(
          call.getOperands(), [&](Value operand) { return frame.wordOf(operand); }));
    if (isHostUpdate(call))
      return update(call, frame);
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    if (!callee || callee.isExternal())
      return callRuntime(call, frame);
    Frame inner;
    for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), call.getOperands()))
      inner.set(argument, frame.valueOf(operand));
    return run(callee.getBody().front(), inner);
  }

  static FailureOr<SmallVector<LaunchWord>> wordsOf(Operation *op, ValueRange operands,
                                                    const Frame &frame) {
    SmallVector<LaunchWord> words;
    for (Value operand : operands) {
      std::optional<LaunchWord> word = frame.wordOf(operand);
      if (!word) {
        op->emitOpError("cannot be listed: it hands over what is not known");
        return failure();
      }
      words.push_back(*word);
    }
    return words;
  }

  LogicalResult update(func::CallOp call, Frame &frame) {
    FailureOr<SmallVector<LaunchWord>> words = wordsOf(call, call.getOperands(), frame);
    if (failed(words))
      return failure();
    auto known = llvm::find(list.updates, call.getCallee());
    HostUpdateCall made;
    made.kernel = static_cast<unsigned>(known - list.updates.begin());
    if (known == list.updates.end())
      list.updates.push_back(call.getCallee().str());
    made.words = std::move(*words);
    made.isStarted = call->hasAttr(llm::LlmDialect::kStarted);
    list.calls.push_back(std::move(made));
    return success();
  }

  LogicalResult callRuntime(func::CallOp call, Frame &frame) {
    StringRef name = call.getCallee();
    FailureOr<SmallVector<LaunchWord>> known = wordsOf(call, call.getOperands(), frame);
    if (failed(known))
      return failure();
    ArrayRef<LaunchWord> words = *known;
    if (name == kMarkFunction)
      list.calls.push_back(Mark{words[0].value});
    else if (name == kDeviceUpdateWait)
      list.calls.push_back(HostCall{HostCall::Kind::WaitForUpdate, {}, {}, 0, 0});
    else if (name == kDeviceHostCopyWait)
      list.calls.push_back(HostCall{HostCall::Kind::WaitForHostCopy, {}, {}, 0, words[0].value});
    else if (name == kDeviceHostCopy || name == kDeviceHostCopyStart)
      list.calls.push_back(HostCall{name == kDeviceHostCopy ? HostCall::Kind::HostCopy
                                                            : HostCall::Kind::StartHostCopy,
                                    words[0], words[1], words[2].value, words[3].value});
    else
      return call.emitOpError("cannot be listed: '")
             << name << "' is of the runtime of several ranks; expected a step of one";
    return success();
  }

  LogicalResult run(memref::CopyOp copy, Frame &frame) {
    std::optional<LaunchWord> to = frame.wordOf(copy.getTarget()),
                              from = frame.wordOf(copy.getSource());
    auto type = dyn_cast<MemRefType>(copy.getTarget().getType());
    if (!to || !from || !type || !type.hasStaticShape())
      return copy.emitOpError("cannot be listed: it copies at places that are not known");
    int64_t bytes = bytesOfBuffer(type);
    list.calls.push_back(HostCall{HostCall::Kind::Copy, *to, *from, bytes, 0});
    return success();
  }

  LogicalResult run(gpu::LaunchFuncOp op, Frame &frame) {
    Launch launch;
    unsigned next = kernels.size();
    launch.kernel = kernels.insert({op.getKernel(), next}).first->second;
    auto sizes = [&](gpu::KernelDim3 size, std::array<int64_t, 3> &to) {
      for (auto [value, extent] : llvm::zip_equal(ArrayRef<Value>{size.x, size.y, size.z}, to)) {
        std::optional<int64_t> known = frame.integerOf(value);
        if (!known)
          return false;
        extent = *known;
      }
      return true;
    };
    if (!sizes(op.getGridSizeOperandValues(), launch.grid) ||
        !sizes(op.getBlockSizeOperandValues(), launch.block))
      return op.emitOpError("cannot be listed: its grid or block is not known");
    if (Value shared = op.getDynamicSharedMemorySize()) {
      std::optional<int64_t> bytes = frame.integerOf(shared);
      if (!bytes)
        return op.emitOpError("cannot be listed: its shared memory is not known");
      launch.sharedBytes = *bytes;
    }
    FailureOr<SmallVector<LaunchWord>> words = wordsOf(op, op.getKernelOperands(), frame);
    if (failed(words))
      return failure();
    launch.words = std::move(*words);
    if (auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(op, op.getKernel())) {
      FailureOr<SmallVector<llmmem_tensor_map>> maps = tensorMapsOf(kernel);
      if (failed(maps))
        return failure();
      launch.maps = std::move(*maps);
    }
    list.calls.push_back(std::move(launch));
    return success();
  }

  LogicalResult run(llm::LibraryProductOp op, Frame &frame) {
    LibraryCall call;
    call.product = constantsOf(op);
    bool isKnown = true;
    auto place = [&](Value buffer, Value begin = Value()) -> std::optional<LaunchWord> {
      if (!buffer)
        return std::nullopt;
      std::optional<LaunchWord> word = frame.wordOf(buffer);
      std::optional<int64_t> element = begin ? frame.integerOf(begin) : std::optional<int64_t>(0);
      isKnown &= word && word->argument && element;
      if (!isKnown)
        return std::nullopt;
      word->value += *element * bytesOfNumber(cast<MemRefType>(buffer.getType()).getElementType());
      return word;
    };
    call.a = place(op.getABuffer(), op.getABegin());
    call.b = place(op.getBBuffer(), op.getBBegin());
    call.c = place(op.getCBuffer(), op.getCBegin());
    call.initial = place(op.getInitialBuffer(), op.getInitialBegin());
    call.bias = place(op.getBias());
    call.aux = place(op.getAux());
    call.workspace = place(op.getWorkspace());
    if (!isKnown)
      return op.emitOpError("cannot be listed: its matrices begin at places that are not known");
    list.calls.push_back(call);
    return success();
  }

  LaunchList list;
  llvm::MapVector<SymbolRefAttr, unsigned> kernels;
};
} // namespace

FailureOr<LaunchList> llmmem::listLaunches(func::FuncOp step) { return HostCode().run(step); }
