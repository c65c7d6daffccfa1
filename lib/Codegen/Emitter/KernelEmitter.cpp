//===- KernelEmitter.cpp - Buffers and loops of kernels -------------------===//

#include "llmmem/Codegen/Emitter/KernelLoops.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

FloatType KernelEmitter::computeTypeOf(Operation *op) {
  auto isDouble = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  if (llvm::any_of(op->getOperandTypes(), isDouble) || llvm::any_of(op->getResultTypes(), isDouble))
    return Float64Type::get(op->getContext());
  return Float32Type::get(op->getContext());
}

static Buffer bufferOf(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return {memref, type.getNumElements(), type.getElementType()};
}

KernelEmitter::KernelEmitter(Operation *op, Block *block, KernelOptions options)
    : op(op), entry(block), workspaceNumber(op->getNumOperands() + op->getNumResults()),
      chosen(options), nested(OpBuilder::atBlockEnd(block)), numberType(computeTypeOf(op)),
      kernelLoops(options.target == KernelTarget::Gpu ? makeDeviceLoops(op) : makeCpuLoops(block)),
      vectorLanes(kernelLoops->lanes(numberType)) {
  for (unsigned number = 0; number < op->getNumOperands(); ++number)
    operands.push_back(bufferOf(block->getArgument(number)));
  for (unsigned number = 0; number < op->getNumResults(); ++number)
    results.push_back(bufferOf(block->getArgument(op->getNumOperands() + number)));
}

KernelEmitter::KernelEmitter(Operation *op, KernelEmitter &outer, ArrayRef<Buffer> operands,
                             ArrayRef<Buffer> results)
    : op(op), entry(outer.entry), workspaceNumber(outer.workspaceNumber), chosen(outer.chosen),
      nested(outer.nested), operands(operands), results(results), numberType(computeTypeOf(op)),
      kernelLoops(outer.kernelLoops), vectorLanes(kernelLoops->lanes(numberType)) {}

KernelEmitter::KernelEmitter(Operation *op, const OpBuilder &builder, ArrayRef<Buffer> operands,
                             ArrayRef<Buffer> results, KernelOptions options)
    : op(op), entry(builder.getInsertionBlock()),
      workspaceNumber(op->getNumOperands() + op->getNumResults()), chosen(options), nested(builder),
      operands(operands), results(results), numberType(computeTypeOf(op)),
      kernelLoops(makeCpuLoops(entry)), vectorLanes(kernelLoops->lanes(numberType)) {}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Buffer Buffer::of(Type tensor, const BufferAccess &access) {
  auto type = cast<RankedTensorType>(tensor);
  return {Value(), type.getNumElements(), type.getElementType(), &access};
}

Buffer KernelEmitter::workspace() {
  Value bytes = entry->getArgument(workspaceNumber);
  int64_t width = bytesOfNumber(numberType);
  return workspace(0, cast<MemRefType>(bytes.getType()).getNumElements() / width, numberType);
}

Buffer KernelEmitter::workspace(int64_t begin, int64_t size, Type element) {
  OpBuilder start = OpBuilder::atBlockBegin(entry);
  Value bytes = entry->getArgument(workspaceNumber);
  Value shift = arith::ConstantIndexOp::create(start, op->getLoc(), begin);
  return bufferOf(memref::ViewOp::create(start, op->getLoc(), MemRefType::get({size}, element),
                                         bytes, shift, ValueRange()));
}

Value KernelEmitter::libraryWorkspace() {
  auto cost = dyn_cast<CostOpInterface>(op);
  int64_t bytes = libraryWorkspaceBytes(op);
  if (!cost || bytes == 0 || entry->getNumArguments() == workspaceNumber)
    return Value();
  return workspace(cost.getWorkspaceBytes() - bytes, bytes, nested.getI8Type()).memref;
}

Value KernelEmitter::stream() const {
  Operation *root = op, *kernel = nested.getInsertionBlock()->getParentOp();
  while (!isa<func::FuncOp>(root->getParentOp()))
    root = root->getParentOp();
  while (!isa<func::FuncOp>(kernel))
    kernel = kernel->getParentOp();
  SmallVector<Operation *> random = randomOps(root);
  auto arguments = cast<func::FuncOp>(kernel).getArguments().take_back(random.size());
  return arguments[llvm::find(random, op) - random.begin()];
}

Buffer KernelEmitter::operand(MutableOperandRange range) const {
  return range.empty() ? Buffer() : operand(range[0]);
}

Buffer KernelEmitter::scratch(int64_t size) { return scratch(size, numberType); }

Buffer KernelEmitter::scratch(int64_t size, Type element) {
  return kernelLoops->scratch(*this, size, element);
}

Buffer KernelEmitter::table(ArrayRef<double> numbers) {
  auto module = op->getParentOfType<ModuleOp>();
  auto type = MemRefType::get({static_cast<int64_t>(numbers.size())}, nested.getF64Type());
  auto initial = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), type.getElementType()), numbers);
  std::string name;
  for (unsigned k = 0; module.lookupSymbol(name = "table_" + std::to_string(k)); ++k)
    ;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  memref::GlobalOp::create(top, op->getLoc(), name, top.getStringAttr("private"), type, initial,
                           /*constant=*/true, /*alignment=*/IntegerAttr());
  return bufferOf(memref::GetGlobalOp::create(nested, op->getLoc(), type, name));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Num KernelEmitter::number(double constant) {
  Value value =
      arith::ConstantOp::create(nested, op->getLoc(), nested.getFloatAttr(numberType, constant));
  return {&nested, value};
}

Num KernelEmitter::splat(double constant, unsigned lanes) {
  Num scalar = number(constant);
  if (lanes == 1)
    return scalar;
  auto type = VectorType::get({lanes}, numberType);
  return {&nested, vector::BroadcastOp::create(nested, op->getLoc(), type, scalar.value)};
}

Value KernelEmitter::loadRaw(Buffer buffer, Index index, unsigned lanes) {
  if (buffer.access)
    return buffer.access->load(nested, index, lanes);
  if (lanes == 1)
    return memref::LoadOp::create(nested, op->getLoc(), buffer.memref, index.value);
  auto type = VectorType::get({lanes}, buffer.element);
  return vector::LoadOp::create(nested, op->getLoc(), type, buffer.memref, index.value);
}

void KernelEmitter::storeRaw(Buffer buffer, Index index, Value value) {
  if (buffer.access)
    buffer.access->store(nested, index, value);
  else if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(nested, op->getLoc(), value, buffer.memref, index.value);
  else
    kernelLoops->storeOnce(*this, [&] {
      memref::StoreOp::create(nested, op->getLoc(), value, buffer.memref, index.value);
    });
}

Num KernelEmitter::load(Buffer buffer, Index index, unsigned lanes) {
  return convert({&nested, loadRaw(buffer, index, lanes)}, numberType);
}

void KernelEmitter::store(Buffer buffer, Index index, Num x) {
  storeRaw(buffer, index, convert(x, buffer.element).value);
}

Value KernelEmitter::lieApart(Buffer a, Buffer b) {
  auto address = [&](Buffer buffer) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(nested, op->getLoc(), buffer.memref);
  };
  return arith::CmpIOp::create(nested, op->getLoc(), arith::CmpIPredicate::ne, address(a),
                               address(b));
}

Num KernelEmitter::loadPeriodic(Buffer buffer, Index index, unsigned lanes, int64_t period,
                                Index first) {
  // Vectors begin at multiples of their lanes, so a vector crosses the period's end only if the
  // lanes do not divide it.
  if (period % lanes == 0)
    return load(buffer, first.value ? first + index % period : index % period, lanes);
  Value raw = arith::ConstantOp::create(
      nested, op->getLoc(), nested.getZeroAttr(VectorType::get({lanes}, buffer.element)));
  for (unsigned lane = 0; lane < lanes; ++lane)
    raw = vector::InsertOp::create(
        nested, op->getLoc(),
        loadRaw(buffer, first.value ? first + (index + lane) % period : (index + lane) % period),
        raw, lane);
  return convert({&nested, raw}, numberType);
}

Value KernelEmitter::elementNumbers(Index first, unsigned lanes, int64_t step) {
  Type integer = nested.getI64Type();
  Value number = arith::IndexCastOp::create(nested, op->getLoc(), integer, first.value);
  if (lanes == 1)
    return number;
  auto type = VectorType::get({lanes}, integer);
  SmallVector<int64_t> steps;
  for (unsigned lane = 0; lane < lanes; ++lane)
    steps.push_back(lane * step);
  Value offsets = arith::ConstantOp::create(nested, op->getLoc(),
                                            DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  Value base = vector::BroadcastOp::create(nested, op->getLoc(), type, number);
  return arith::AddIOp::create(nested, op->getLoc(), base, offsets);
}

/// Calls `chunk` with the beginning and the width of each vector of a row.
static void forChunks(int64_t width, unsigned lanes, function_ref<void(int64_t, unsigned)> chunk) {
  for (int64_t begin = 0; begin < width; begin += lanes)
    chunk(begin, std::min<int64_t>(lanes, width - begin));
}

Row KernelEmitter::loadRow(Buffer buffer, Index index, int64_t width) {
  Row row;
  forChunks(width, vectorLanes, [&](int64_t begin, unsigned lanes) {
    auto type = VectorType::get({lanes}, buffer.element);
    Value raw =
        vector::LoadOp::create(nested, op->getLoc(), type, buffer.memref, (index + begin).value);
    row.push_back(convert({&nested, raw}, numberType));
  });
  return row;
}

void KernelEmitter::storeRow(Buffer buffer, Index index, ArrayRef<Num> row) {
  int64_t begin = 0;
  for (Num chunk : row) {
    store(buffer, index + begin, chunk);
    begin += cast<VectorType>(chunk.type()).getNumElements();
  }
}

Row KernelEmitter::zeroRow(int64_t width) {
  Row row;
  forChunks(width, vectorLanes, [&](int64_t, unsigned lanes) {
    auto zero = DenseElementsAttr::get(VectorType::get({lanes}, numberType),
                                       nested.getZeroAttr(numberType));
    row.push_back({&nested, arith::ConstantOp::create(nested, op->getLoc(),
                                                      cast<TypedAttr>(Attribute(zero)))});
  });
  return row;
}

Index KernelEmitter::index(int64_t constant) {
  return {&nested, arith::ConstantIndexOp::create(nested, op->getLoc(), constant)};
}

Index KernelEmitter::loadIndex(Buffer buffer, Index index) {
  Value raw = loadRaw(buffer, index);
  return {&nested, arith::IndexCastOp::create(nested, op->getLoc(), nested.getIndexType(), raw)};
}

Num KernelEmitter::toNumber(Index index) {
  Value integer =
      arith::IndexCastOp::create(nested, op->getLoc(), nested.getI64Type(), index.value);
  return {&nested, arith::SIToFPOp::create(nested, op->getLoc(), numberType, integer)};
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void KernelEmitter::forSteps(Index lower, Index upper, int64_t step,
                             function_ref<void(Index)> body) {
  auto loop = scf::ForOp::create(nested, op->getLoc(), lower.value, upper.value, index(step).value);
  OpBuilder::InsertionGuard guard(nested);
  nested.setInsertionPointToStart(loop.getBody());
  body({&nested, loop.getInductionVar()});
}

void KernelEmitter::forEach(Index lower, Index upper, function_ref<void(Index)> body) {
  forSteps(lower, upper, 1, body);
}

void KernelEmitter::forEach(int64_t count, function_ref<void(Index)> body) {
  forEach(index(0), index(count), body);
}

void KernelEmitter::forLanes(int64_t count, function_ref<void(Index, unsigned)> body) {
  kernelLoops->forLanes(*this, count, body);
}

void KernelEmitter::forRows(int64_t rows, RowShape shape, function_ref<void(Index)> body) {
  kernelLoops->forRows(*this, rows, shape, body);
}

void KernelEmitter::forEachParallel(int64_t count, function_ref<void(Index)> body) {
  // Nothing is known of what an iteration reads.
  kernelLoops->forRows(*this, count, {.width = 1, .synchronizes = true}, body);
}

void KernelEmitter::forLanesParallel(int64_t count, function_ref<void(Index, unsigned)> body) {
  forLanesParallel(
      count, [] { return Row(); }, [&](Index i, unsigned lanes, ArrayRef<Num>) { body(i, lanes); });
}

void KernelEmitter::forLanesParallel(int64_t count, function_ref<Row()> common,
                                     function_ref<void(Index, unsigned, ArrayRef<Num>)> body) {
  kernelLoops->forLanesParallel(*this, count, common, body);
}

static SmallVector<Value> valuesOf(ArrayRef<Num> numbers) {
  SmallVector<Value> values;
  for (Num number : numbers)
    values.push_back(number.value);
  return values;
}

static Row numbersOf(OpBuilder &builder, ValueRange values) {
  Row numbers;
  for (Value value : values)
    numbers.push_back({&builder, value});
  return numbers;
}

Row KernelEmitter::foldSteps(Index lower, Index upper, int64_t step, ArrayRef<Num> initial,
                             function_ref<Row(Index, ArrayRef<Num>)> body) {
  auto loop = scf::ForOp::create(nested, op->getLoc(), lower.value, upper.value, index(step).value,
                                 valuesOf(initial));
  OpBuilder::InsertionGuard guard(nested);
  nested.setInsertionPointToStart(loop.getBody());
  Row next = body({&nested, loop.getInductionVar()}, numbersOf(nested, loop.getRegionIterArgs()));
  if (!initial.empty()) // Otherwise scf.for has added its yield.
    scf::YieldOp::create(nested, op->getLoc(), valuesOf(next));
  return numbersOf(nested, loop.getResults());
}

Row KernelEmitter::fold(Index lower, Index upper, ArrayRef<Num> initial,
                        function_ref<Row(Index, ArrayRef<Num>)> body) {
  return foldSteps(lower, upper, 1, initial, body);
}

Num KernelEmitter::sum(int64_t count, function_ref<Num(Index, unsigned)> term) {
  return kernelLoops->reduce(*this, count, term,
                             {0.0, [](Num a, Num b) { return a + b; }, sumOfLanes});
}

Num KernelEmitter::maximumOver(int64_t count, function_ref<Num(Index, unsigned)> term) {
  return kernelLoops->reduce(*this, count, term,
                             {-std::numeric_limits<double>::infinity(),
                              [](Num a, Num b) { return maximum(a, b); }, maximumOfLanes});
}

void KernelEmitter::ifThen(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(nested, op->getLoc(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(nested);
  nested.setInsertionPointToStart(&branch.getThenRegion().front());
  then();
}

Row KernelEmitter::chooseIf(Value condition, ArrayRef<Num> otherwise, function_ref<Row()> then) {
  SmallVector<Value> values = valuesOf(otherwise);
  auto branch = scf::IfOp::create(nested, op->getLoc(), ValueRange(values).getTypes(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(nested);
  nested.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(nested, op->getLoc(), values);
  nested.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(nested, op->getLoc(), valuesOf(then()));
  return numbersOf(nested, branch.getResults());
}
