//===- GroupKernels.cpp - One kernel for the ops of an llm.kernel ---------===//
//
// The ops of the body are emitted by the formulas that they have alone, on buffers that have no
// bytes. A load from one computes its elements there, in the element type that they would have been
// stored in, so every rounding point stays.
//
// Without a leading op, all formulas are emitted into one loop over elements. With one, its own
// loops lead: operands of a row op are computed when it loads them, and what follows it, or follows
// a product, is computed when it stores. A product by a library that is asked for no epilogue is
// written as a whole first; so is one that a library was to compute with its epilogue and has no
// algorithm for. A sum over rows comes after its product, with loops of its own. Attention reads
// and writes columns of the kernel's buffers where its group splits and concatenates them.
//
//===----------------------------------------------------------------------===//

#include "Emitter/Matmuls.h"
#include "Gpu/LibraryKernels.h"
#include "KernelModels.h"
#include "llmmem/Dialect/HeadColumns.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

class GroupEmission {
public:
  GroupEmission(KernelOp kernel, KernelEmitter &outer)
      : kernel(kernel), outer(outer), leading(kernel.getLeadingOp()),
        isRefused(isLibraryKernel(kernel, outer.options())) {}

  LogicalResult emit() {
    if (attentionIn(kernel))
      emitOnColumns();
    else if (kernel.getSumOp())
      emitInTurn();
    else if (isLibraryMatmulAlone())
      emitAfterMatmul();
    else if (leading)
      emitAlong();
    else
      forLanesParallel(outer, outer.result(0).size, [&](Index i, unsigned lanes) {
        Elements elements{i, lanes, &outer.builder()};
        storeResults(elements);
      });
    return status;
  }

private:
  /// Holds the elements [index, index + lanes) of the body's values, as far as they are computed.
  struct Elements {
    Index index;
    unsigned lanes;
    OpBuilder *builder;
    llvm::DenseMap<Value, Value> known = llvm::DenseMap<Value, Value>();
  };

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  Value elementsOf(Value value, Elements &elements) {
    if (Value known = elements.known.lookup(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return elements.known[value] = loadInput(argument, elements);
    compute(value.getDefiningOp(), elements);
    return elements.known.lookup(value);
  }

  Value loadInput(BlockArgument argument, Elements &elements) {
    KernelEmitter reader(kernel, *elements.builder);
    return reader.loadRaw(outer.operand(argument.getArgNumber()), elements.index, elements.lanes);
  }

  /// Emits the formulas of an op by elements; its operands and results are buffers without bytes.
  void compute(Operation *op, Elements &elements) {
    SmallVector<BufferAccess> accesses(op->getNumOperands() + op->getNumResults());
    SmallVector<Buffer> operands, results;
    for (auto [number, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(operandOf(op, operand, elements, accesses[number]));
    for (OpResult result : op->getResults()) {
      BufferAccess &access = accesses[op->getNumOperands() + result.getResultNumber()];
      access.store = [&elements, result](OpBuilder &, Index, Value stored) {
        elements.known[result] = stored;
      };
      results.push_back(Buffer::of(result.getType(), access));
    }
    KernelEmitter emitter(op, *elements.builder, operands, results, outer.options());
    auto emission = dyn_cast<KernelOpInterface>(op);
    if (!emission || failed(emission.emitElements(emitter, elements.index, elements.lanes)))
      status = failure();
  }

  /// What is not read element by element (a seed, a table) is an operand of the kernel itself.
  Buffer operandOf(Operation *op, Value operand, Elements &elements, BufferAccess &access) {
    if (auto argument = dyn_cast<BlockArgument>(operand))
      return outer.operand(argument.getArgNumber());
    access.load = [this, operand, &elements](OpBuilder &, Index, unsigned) {
      return elementsOf(operand, elements);
    };
    return Buffer::of(operand.getType(), access);
  }

  /// All of them are computed before the first is stored, because a result may overwrite an
  /// operand. Results without readers are not stored: the pre-activation of a forward that the
  /// backward recomputes.
  void storeResults(Elements &elements) {
    SmallVector<std::pair<unsigned, Value>> stored;
    for (auto [number, value] : llvm::enumerate(kernel.getYielded()))
      if (!kernel.getResult(number).use_empty() && number != written &&
          (value.getDefiningOp() != leading || isFirstOfLeading(value)))
        stored.push_back({static_cast<unsigned>(number), elementsOf(value, elements)});
    if (failed(status))
      return;
    KernelEmitter writer(kernel, *elements.builder);
    for (auto [number, value] : stored)
      writer.storeRaw(outer.result(number), elements.index, value);
  }

  //===--------------------------------------------------------------------===//
  // Along the loops of another
  //===--------------------------------------------------------------------===//

  bool isFirstOfLeading(Value value) const { return leading && value == leading->getResult(0); }

  void emitAlong() {
    SmallVector<BufferAccess> accesses(leading->getNumOperands() + 1);
    SmallVector<Buffer> operands, results;
    for (auto [number, operand] : llvm::enumerate(leading->getOperands()))
      operands.push_back(operandOfLeading(operand, accesses[number]));
    accesses.back().store = [this](OpBuilder &builder, Index index, Value stored) {
      auto vector = dyn_cast<VectorType>(stored.getType());
      unsigned lanes = vector ? vector.getNumElements() : 1;
      Elements elements{index, lanes, &builder};
      elements.known[leading->getResult(0)] = stored;
      storeResults(elements);
    };
    results.push_back(Buffer::of(leading->getResult(0).getType(), accesses.back()));
    for (OpResult statistic : leading->getResults().drop_front())
      results.push_back(bufferOfYielded(statistic));
    emitLoopsOf(leading, operands, results);
  }

  Buffer operandOfLeading(Value operand, BufferAccess &access) {
    if (auto argument = dyn_cast<BlockArgument>(operand))
      return outer.operand(argument.getArgNumber());
    access.load = [this, operand](OpBuilder &builder, Index index, unsigned lanes) {
      Elements elements{index, lanes, &builder};
      return elementsOf(operand, elements);
    };
    return Buffer::of(operand.getType(), access);
  }

  /// Returns the kernel's result through which a value of the body leaves, or a buffer that
  /// discards it.
  Buffer bufferOfYielded(OpResult result) {
    for (auto [number, value] : llvm::enumerate(kernel.getYielded()))
      if (value == result)
        return outer.result(number);
    static const BufferAccess unread{nullptr, [](OpBuilder &, Index, Value) {}};
    return Buffer::of(result.getType(), unread);
  }

  //===--------------------------------------------------------------------===//
  // One after the other
  //===--------------------------------------------------------------------===//

  bool isLibraryMatmulAlone() {
    if (isRefused)
      return true;
    Operation *product = kernel.getProductBeforeEpilogue();
    return product && isMultipliedByLibrary(outer.options(),
                                            getElementTypeOrSelf(product->getResult(0).getType()));
  }

  /// Returns the bytes that the plan has for the product.
  Buffer bufferOfMatmul() {
    if (isRefused) {
      // The plan has no bytes for the product alone. The library's result is as large, and overlaps
      // nothing that the epilogue reads.
      Value c = llm::libraryEpilogueOf(kernel)->c;
      bool isYielded = llvm::is_contained(kernel.getYielded(), leading->getResult(0));
      return bufferOfYielded(cast<OpResult>(isYielded ? leading->getResult(0) : c));
    }
    if (std::optional<unsigned> result = kernel.getResultOfProduct())
      return outer.result(*result);
    auto type = cast<RankedTensorType>(leading->getResult(0).getType());
    return outer.workspace(0, type.getNumElements(), type.getElementType());
  }

  /// Emits the same call as for the product alone, then its epilogue, which may work in place.
  void emitAfterMatmul() {
    Buffer product = bufferOfMatmul();
    emitAlone(leading, product);
    for (auto [number, value] : llvm::enumerate(kernel.getYielded()))
      if (isFirstOfLeading(value) && (isRefused || kernel.getResultOfProduct() == number))
        written = number;
    forLanesParallel(outer, product.size, [&](Index i, unsigned lanes) {
      Elements elements{i, lanes, &outer.builder()};
      elements.known[leading->getResult(0)] = outer.loadRaw(product, i, lanes);
      storeResults(elements);
    });
  }

  //===--------------------------------------------------------------------===//
  // On columns
  //===--------------------------------------------------------------------===//

  static Buffer withPlaces(Buffer buffer, const HeadColumns &columns) {
    buffer.begin = columns.begin;
    buffer.pitch = columns.pitch;
    return buffer;
  }

  void emitOnColumns() {
    SmallVector<Buffer> operands, results;
    for (Value operand : leading->getOperands()) {
      HeadColumns columns = columnsRead(operand);
      operands.push_back(
          withPlaces(outer.operand(cast<BlockArgument>(columns.whole).getArgNumber()), columns));
    }
    for (OpResult result : leading->getResults()) {
      HeadColumns columns = columnsWritten(result);
      results.push_back(withPlaces(bufferOfYielded(cast<OpResult>(columns.whole)), columns));
    }
    emitLoopsOf(leading, operands, results);
  }

  //===--------------------------------------------------------------------===//
  // In turn
  //===--------------------------------------------------------------------===//

  void emitInTurn() {
    for (auto [number, op] : llvm::enumerate(kernel.getBody().front().without_terminator()))
      emitAlone(&op, outer.result(number));
  }

  /// Emits `op` without the others; it reads operands of the kernel alone.
  void emitAlone(Operation *op, Buffer result) {
    SmallVector<Buffer> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      return outer.operand(cast<BlockArgument>(operand).getArgNumber());
    });
    emitLoopsOf(op, operands, result);
  }

  void emitLoopsOf(Operation *op, ArrayRef<Buffer> operands, ArrayRef<Buffer> results) {
    KernelEmitter emitter(op, outer, operands, results);
    auto emission = dyn_cast<KernelOpInterface>(op);
    if (!emission || failed(emission.emitKernel(emitter)))
      status = failure();
  }

  KernelOp kernel;
  KernelEmitter &outer;
  Operation *leading;
  /// Says whether the plan has one call of a library for the kernel, and the library has no
  /// algorithm for it.
  bool isRefused;
  /// Holds the result that the leading op wrote as a whole.
  std::optional<unsigned> written;
  LogicalResult status = success();
};

/// Shows people which epilogues the library that multiplies is not asked for.
void remarkOnEpilogue(KernelOp kernel, const KernelOptions &options) {
  if (isLibraryTarget(options) && kernel.getProductBeforeEpilogue())
    kernel.emitRemark() << "is a product and a launch, as the plan has '" << kernelKind(kernel)
                        << "' for no library; plan with --products=library";
}

struct GroupKernel : KernelOpInterface::ExternalModel<GroupKernel, KernelOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto kernel = cast<KernelOp>(op);
    if (isLibraryKernel(kernel, emitter.options()) && emitLibraryKernel(kernel, emitter))
      return success();
    remarkOnEpilogue(kernel, emitter.options());
    return GroupEmission(kernel, emitter).emit();
  }
};

} // namespace

void llmmem::attachGroupKernels(MLIRContext *context) {
  KernelOp::attachInterface<GroupKernel>(*context);
}
