//===- LlmKernel.cpp - The op that is a kernel of several ops --------------===//

#include "GroupText.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/HeadColumns.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/TargetInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

OperandRange KernelOp::getYielded() {
  return cast<YieldOp>(getBody().front().getTerminator()).getValues();
}

static std::optional<Traversal> traversalOf(Operation &op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable ? std::optional(groupable.getTraversal()) : std::nullopt;
}

static bool leads(Operation &op) {
  std::optional<Traversal> traversal = traversalOf(op);
  return traversal == Traversal::RowReduction || traversal == Traversal::Matmul ||
         traversal == Traversal::Attention;
}

Operation *KernelOp::getLeadingOp() {
  for (Operation &op : getBody().front())
    if (leads(op))
      return &op;
  return nullptr;
}

Operation *KernelOp::getSumOp() {
  for (Operation &op : getBody().front())
    if (traversalOf(op) == Traversal::ColumnReduction)
      return &op;
  return nullptr;
}

/// Returns how a matmul library computes the kernel, as the targets say.
static std::optional<LibraryCall> libraryCallOf(KernelOp kernel) {
  const TargetInterface *targets = llm::getTargets(kernel);
  return targets ? targets->getLibraryCall(kernel) : std::nullopt;
}

Operation *KernelOp::getProductBeforeEpilogue() {
  Operation *leading = getLeadingOp();
  bool isProduct = leading && traversalOf(*leading) == Traversal::Matmul && !getSumOp();
  bool isOneCall = isForLibrary(*this) && libraryCallOf(*this);
  return isProduct && !isOneCall ? leading : nullptr;
}

std::optional<unsigned> KernelOp::getResultOfProduct() {
  Operation *product = getProductBeforeEpilogue();
  if (!product)
    return std::nullopt;
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  std::optional<unsigned> found;
  for (auto [number, value] : llvm::enumerate(getYielded())) {
    if (value == product->getResult(0))
      return number;
    auto other = cast<RankedTensorType>(value.getType());
    if (!found && other.getElementType() == type.getElementType() &&
        other.getNumElements() == type.getNumElements())
      found = number;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Text: llm.kernel(%a = %x, %b = %y) : functional type { ... } attributes {...}
//===----------------------------------------------------------------------===//

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "in");
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseGroup(parser, result);
}

void KernelOp::print(OpAsmPrinter &printer) { printGroup(printer, *this); }

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  if (getBody().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has operands of types ")
           << getInputs().getTypes() << ", but its body takes " << getBody().getArgumentTypes();
  if (getYielded().getTypes() != getOutputs().getTypes())
    return emitOpError("has results of types ")
           << getOutputs().getTypes() << ", but its body yields " << getYielded().getTypes();
  return success();
}

/// A matmul reads its operands as often as it has terms for them, so they must lie in memory.
static LogicalResult verifyMatmul(Operation *matmul) {
  for (Value operand : matmul->getOperands())
    if (Operation *source = operand.getDefiningOp())
      return matmul->emitOpError("multiplies what '")
             << source->getName()
             << "' computes in the same kernel; expected operands of the kernel";
  return success();
}

/// Everything between the row reduction and the results must read elements that it writes.
static LogicalResult verifyAfterRows(Operation *rows) {
  for (OpResult result : rows->getResults())
    for (Operation *user : result.getUsers())
      if (result.getResultNumber() != 0 && !isa<YieldOp>(user))
        return user->emitOpError("reads a statistic of '")
               << rows->getName() << "' in the same kernel; only its first result goes on";
  return success();
}

/// It has loops of its own, after those of the matmul.
static LogicalResult verifySum(KernelOp kernel, Operation *sum) {
  Operation *matmul = kernel.getLeadingOp();
  auto ops = kernel.getBody().front().without_terminator();
  bool arePair = matmul && traversalOf(*matmul) == Traversal::Matmul && &*ops.begin() == matmul &&
                 &*std::next(ops.begin()) == sum && std::next(ops.begin(), 2) == ops.end();
  bool areOfOperands = llvm::all_of(sum->getOperands(), llvm::IsaPred<BlockArgument>);
  if (arePair && areOfOperands && llvm::is_contained(matmul->getOperands(), sum->getOperand(0)) &&
      llvm::equal(kernel.getYielded(), ValueRange{matmul->getResult(0), sum->getResult(0)}))
    return success();
  return sum->emitOpError("sums over rows in a kernel; expected a matmul and, after it, the sum "
                          "of one of its factors, both handed out in this order");
}

/// Each part must be whole heads, as attention reads it.
static bool isSplitForHeads(Operation &op) {
  return isa<SplitOp>(op) && isa<BlockArgument>(op.getOperand(0)) &&
         llvm::all_of(op.getResults(), [](Value part) {
           return !part.use_empty() && llvm::all_of(part.getUses(), readsHeads);
         });
}

static bool isConcatOfHeads(Operation &op) {
  return isa<ConcatOp>(op) && llvm::all_of(op.getUsers(), llvm::IsaPred<YieldOp>) &&
         llvm::all_of(op.getOperands(),
                      [](Value part) { return part.hasOneUse() && areHeads(part); });
}

/// Attention reads and writes rows of heads in memory: operands of the kernel, or columns of one;
/// results of the kernel, or columns of one.
static LogicalResult verifyColumns(KernelOp kernel, Operation *attention) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (&op != attention && !isSplitForHeads(op) && !isConcatOfHeads(op))
      return op.emitOpError("shares a kernel with '")
             << attention->getName()
             << "'; expected splits of operands of the kernel whose parts are all heads that it "
                "reads, and concats of its gradients that leave the kernel";
  return success();
}

/// Columns are places in memory, which elements of a loop do not have.
static LogicalResult verifyNoColumns(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (traversalOf(op) == Traversal::Columns)
      return op.emitOpError("shares a kernel without attention; expected a kernel of its own");
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (getYielded().empty())
    return emitOpError("yields nothing");
  for (Value value : getYielded())
    if (isa<BlockArgument>(value))
      return emitOpError("yields an operand; a reader of the result can read the operand itself");
  Operation *leading = nullptr;
  for (Operation &op : getBody().front().without_terminator()) {
    if (!isa<GroupableOpInterface>(op))
      return op.emitOpError("cannot share a kernel; expected an elementwise op, a row reduction, a "
                            "matmul or attention");
    if (!leads(op))
      continue;
    if (leading)
      return op.emitOpError("has loops of its own, and so has '")
             << leading->getName() << "' in the same kernel; expected one at most";
    leading = &op;
  }
  if (leading && traversalOf(*leading) == Traversal::Attention)
    return verifyColumns(*this, leading);
  if (failed(verifyNoColumns(*this)))
    return failure();
  if (Operation *sum = getSumOp())
    return verifySum(*this, sum);
  if (!leading)
    return success();
  return traversalOf(*leading) == Traversal::Matmul ? verifyMatmul(leading)
                                                    : verifyAfterRows(leading);
}

//===----------------------------------------------------------------------===//
// Cost and buffers
//===----------------------------------------------------------------------===//

int64_t KernelOp::getFlops() {
  Count flops;
  for (Operation &op : getBody().front().without_terminator())
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops += cost.getFlops();
  return flops;
}

int64_t KernelOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }

bool KernelOp::multipliesMatrices() { return libraryCallOf(*this).has_value(); }

/// Returns the sum that a library writes for a second kernel to add to the accumulator, or null.
static SumRowsOp sumToAdd(KernelOp kernel) {
  std::optional<LibraryCall> call = isForLibrary(kernel) ? libraryCallOf(kernel) : std::nullopt;
  return call && call->sum && call->sum.getInto() ? call->sum : SumRowsOp();
}

SmallVector<KernelCost> KernelOp::getKernelCosts() {
  SmallVector<KernelCost> kernels = {{getFlops(), getBytesMoved()}};
  if (SumRowsOp sum = sumToAdd(*this)) {
    // The second kernel reads the accumulator and writes the sum.
    KernelCost adding = {sum.getDb().getType().getNumElements(),
                         2 * Count(bytesOfType(sum.getDb().getType()))};
    kernels.front().flops -= adding.flops;
    kernels.front().bytesMoved -= adding.bytesMoved;
    kernels.push_back(adding);
  }
  return kernels;
}

int64_t KernelOp::getWorkspaceBytes() {
  int64_t own = 0;
  Operation *leading = getLeadingOp();
  if (leading && traversalOf(*leading) == Traversal::Attention)
    own = cast<CostOpInterface>(leading).getWorkspaceBytes();
  else if (SumRowsOp sum = sumToAdd(*this))
    own = bytesOfType(sum.getDb().getType());
  else if (Operation *product = getProductBeforeEpilogue(); product && !getResultOfProduct())
    own = bytesOfType(product->getResult(0).getType());
  return alignTo(Count(own), kArenaAlignment) + Count(libraryWorkspaceBytes(*this));
}
