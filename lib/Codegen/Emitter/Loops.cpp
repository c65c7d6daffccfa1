//===- Loops.cpp - Loops and branches of kernels ---------------------------===//

#include "llmmem/Codegen/Emitter/Loops.h"
#include "llmmem/Codegen/Emitter/KernelLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;

void llmmem::forSteps(KernelEmitter &e, Index lower, Index upper, int64_t step,
                      function_ref<void(Index)> body) {
  auto loop =
      scf::ForOp::create(e.builder(), e.location(), lower.value, upper.value, e.index(step).value);
  OpBuilder::InsertionGuard guard(e.builder());
  e.builder().setInsertionPointToStart(loop.getBody());
  body({&e.builder(), loop.getInductionVar()});
}

void llmmem::forEach(KernelEmitter &e, Index lower, Index upper, function_ref<void(Index)> body) {
  forSteps(e, lower, upper, 1, body);
}

void llmmem::forEach(KernelEmitter &e, int64_t count, function_ref<void(Index)> body) {
  forEach(e, e.index(0), e.index(count), body);
}

void llmmem::forLanes(KernelEmitter &e, int64_t count, function_ref<void(Index, unsigned)> body) {
  e.loops().forLanes(e, count, body);
}

void llmmem::forRows(KernelEmitter &e, int64_t rows, RowShape shape,
                     function_ref<void(Index)> body) {
  e.loops().forRows(e, rows, shape, body);
}

void llmmem::forEachParallel(KernelEmitter &e, int64_t count, function_ref<void(Index)> body) {
  // Nothing is known about what an iteration reads.
  e.loops().forRows(e, count, {.width = 1, .synchronizes = true}, body);
}

void llmmem::forLanesParallel(KernelEmitter &e, int64_t count,
                              function_ref<void(Index, unsigned)> body) {
  forLanesParallel(
      e, count, [] { return Row(); },
      [&](Index i, unsigned lanes, ArrayRef<Num>) { body(i, lanes); });
}

void llmmem::forLanesParallel(KernelEmitter &e, int64_t count, function_ref<Row()> common,
                              function_ref<void(Index, unsigned, ArrayRef<Num>)> body) {
  e.loops().forLanesParallel(e, count, common, body);
}

static SmallVector<Value> valuesOf(ArrayRef<Num> numbers) {
  auto values = llvm::map_to_vector(numbers, [&](Num number) { return number.value; });
  return values;
}

static Row numbersOf(OpBuilder &builder, ValueRange values) {
  Row numbers;
  for (Value value : values)
    numbers.push_back({&builder, value});
  return numbers;
}

Row llmmem::foldSteps(KernelEmitter &e, Index lower, Index upper, int64_t step,
                      ArrayRef<Num> initial, function_ref<Row(Index, ArrayRef<Num>)> body) {
  auto loop = scf::ForOp::create(e.builder(), e.location(), lower.value, upper.value,
                                 e.index(step).value, valuesOf(initial));
  OpBuilder::InsertionGuard guard(e.builder());
  e.builder().setInsertionPointToStart(loop.getBody());
  Row next = body({&e.builder(), loop.getInductionVar()},
                  numbersOf(e.builder(), loop.getRegionIterArgs()));
  if (!initial.empty()) // Otherwise scf.for has added its yield.
    scf::YieldOp::create(e.builder(), e.location(), valuesOf(next));
  return numbersOf(e.builder(), loop.getResults());
}

Row llmmem::fold(KernelEmitter &e, Index lower, Index upper, ArrayRef<Num> initial,
                 function_ref<Row(Index, ArrayRef<Num>)> body) {
  return foldSteps(e, lower, upper, 1, initial, body);
}

Num llmmem::sumOver(KernelEmitter &e, int64_t count, function_ref<Num(Index, unsigned)> term) {
  return e.loops().reduce(e, count, term, {0.0, [](Num a, Num b) { return a + b; }, sumOfLanes});
}

Num llmmem::maximumOver(KernelEmitter &e, int64_t count, function_ref<Num(Index, unsigned)> term) {
  return e.loops().reduce(e, count, term,
                          {-std::numeric_limits<double>::infinity(),
                           [](Num a, Num b) { return maximum(a, b); }, maximumOfLanes});
}

void llmmem::ifThen(KernelEmitter &e, Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(e.builder(), e.location(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.builder());
  e.builder().setInsertionPointToStart(&branch.getThenRegion().front());
  then();
}

Row llmmem::chooseIf(KernelEmitter &e, Value condition, ArrayRef<Num> otherwise,
                     function_ref<Row()> then) {
  SmallVector<Value> values = valuesOf(otherwise);
  auto branch =
      scf::IfOp::create(e.builder(), e.location(), ValueRange(values).getTypes(), condition,
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.builder());
  e.builder().setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(e.builder(), e.location(), values);
  e.builder().setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(e.builder(), e.location(), valuesOf(then()));
  return numbersOf(e.builder(), branch.getResults());
}
