//===- LaneIntegers.cpp - An integer in each lane of a warp ----------------===//

#include "LaneIntegers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void LaneIntegers::spread() {
  if (isAlike)
    numbers.fill(numbers[0]);
  isAlike = false;
}

void LaneIntegers::set(int64_t lane, int64_t number) {
  spread();
  numbers[lane] = number;
  knownLanes |= Lanes(1) << lane;
}

void LaneIntegers::assign(const LaneIntegers &other, Lanes lanes) {
  if (lanes == ~Lanes(0)) {
    *this = other;
    return;
  }
  spread();
  knownLanes = (knownLanes & ~lanes) | (other.knownLanes & lanes);
  for (int64_t lane = 0; lane < kLanes; ++lane)
    if (contains(other.knownLanes & lanes, lane))
      numbers[lane] = other[lane];
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::optional<LaneOp> LaneOp::of(Operation &op) {
  auto inferable = dyn_cast<InferIntRangeInterface>(op);
  auto isInteger = [](Type type) { return type.isIntOrIndex(); };
  if (!inferable || op.getNumRegions() > 0 || op.getNumResults() != 1 ||
      !llvm::all_of(op.getResultTypes(), isInteger) ||
      !llvm::all_of(op.getOperandTypes(), isInteger))
    return std::nullopt;
  return LaneOp(inferable);
}

LaneOp::LaneOp(InferIntRangeInterface inferable)
    : op(inferable),
      width(ConstantIntRanges::getStorageBitwidth(inferable->getResult(0).getType())) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op.getOperation()))
    predicate = compare.getPredicate();
  for (Type type : op->getOperandTypes())
    fewestBits = std::min(fewestBits, ConstantIntRanges::getStorageBitwidth(type));
  kind =
      llvm::TypeSwitch<Operation *, Kind>(op)
          .Case([](arith::AddIOp) { return Kind::Add; })
          .Case([](arith::SubIOp) { return Kind::Sub; })
          .Case([](arith::MulIOp) { return Kind::Mul; })
          .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([](auto) { return Kind::Div; })
          .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return Kind::CeilDiv; })
          .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return Kind::Rem; })
          .Case([](arith::AndIOp) { return Kind::And; })
          .Case([](arith::OrIOp) { return Kind::Or; })
          .Case([](arith::XOrIOp) { return Kind::Xor; })
          .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return Kind::Min; })
          .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return Kind::Max; })
          .Case([](arith::CmpIOp) { return Kind::Compare; })
          .Case([](arith::SelectOp) { return Kind::Select; })
          .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
                arith::TruncIOp>([](auto) { return Kind::Cast; })
          .Default(Kind::Other);
}

/// Compares numbers that are not negative, for which signed and unsigned predicates agree.
static bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
  case P::ult:
    return a < b;
  case P::sle:
  case P::ule:
    return a <= b;
  case P::sgt:
  case P::ugt:
    return a > b;
  case P::sge:
  case P::uge:
    return a >= b;
  }
  llvm_unreachable("a predicate");
}

bool LaneOp::fits(int64_t number) const { return width > 1 && llvm::isIntN(width, number); }

/// Computes where no operand is negative and nothing overflows.
std::optional<int64_t> LaneOp::compute(ArrayRef<int64_t> operands) const {
  if (kind == Kind::Other || llvm::any_of(operands, [](int64_t number) { return number < 0; }))
    return std::nullopt;
  if (kind == Kind::Select)
    return operands[0] != 0 ? operands[1] : operands[2];
  int64_t a = operands[0], b = operands.size() > 1 ? operands[1] : 0, result = 0;
  // The one bit of i1 is also its sign.
  if (kind == Kind::Compare)
    return fewestBits > 1 ? std::optional<int64_t>(holds(predicate, a, b)) : std::nullopt;
  switch (kind) {
  case Kind::And:
    return a & b;
  case Kind::Or:
    return a | b;
  case Kind::Xor:
    return a ^ b;
  case Kind::Add:
    if (llvm::AddOverflow(a, b, result))
      return std::nullopt;
    break;
  case Kind::Sub:
    result = a - b;
    break;
  case Kind::Mul:
    if (llvm::MulOverflow(a, b, result))
      return std::nullopt;
    break;
  case Kind::Div:
  case Kind::CeilDiv:
  case Kind::Rem:
    if (b == 0)
      return std::nullopt;
    result = kind == Kind::Rem ? a % b : a / b + (kind == Kind::CeilDiv && a % b != 0);
    break;
  case Kind::Min:
    result = std::min(a, b);
    break;
  case Kind::Max:
    result = std::max(a, b);
    break;
  case Kind::Cast:
    if (fewestBits == 1)
      return std::nullopt;
    result = a;
    break;
  default:
    return std::nullopt;
  }
  return fits(result) ? std::optional(result) : std::nullopt;
}

/// Uses the ranges that the op infers from constant operands.
std::optional<int64_t> LaneOp::infer(ArrayRef<int64_t> operands) const {
  SmallVector<ConstantIntRanges, 3> ranges;
  for (auto [value, number] : llvm::zip_equal(op->getOperands(), operands)) {
    unsigned bits = ConstantIntRanges::getStorageBitwidth(value.getType());
    ranges.push_back(ConstantIntRanges::constant(
        APInt(bits, number, /*isSigned=*/true, /*implicitTrunc=*/true)));
  }
  std::optional<int64_t> result;
  InferIntRangeInterface inferable = op;
  inferable.inferResultRanges(ranges, [&](Value value, const ConstantIntRanges &range) {
    if (std::optional<APInt> number = range.getConstantValue())
      result = value.getType().isInteger(1) ? number->getZExtValue() : number->getSExtValue();
  });
  return result;
}

std::optional<int64_t> LaneOp::inLane(ArrayRef<int64_t> operands) const {
  std::optional<int64_t> result = compute(operands);
  return result ? result : infer(operands);
}

LaneIntegers LaneOp::apply(ArrayRef<const LaneIntegers *> operands, Lanes lanes) const {
  SmallVector<int64_t, 3> numbers(operands.size());
  auto gather = [&](int64_t lane) {
    for (auto [number, operand] : llvm::zip_equal(numbers, operands))
      number = (*operand)[lane];
  };
  LaneIntegers result;
  if (llvm::all_of(operands, [](const LaneIntegers *operand) { return operand->isUniform(); })) {
    gather(0);
    std::optional<int64_t> number = inLane(numbers);
    return number ? LaneIntegers(*number) : result;
  }
  for (const LaneIntegers *operand : operands)
    lanes &= operand->known();
  for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane) {
    if (!contains(lanes, lane))
      continue;
    gather(lane);
    if (std::optional<int64_t> number = inLane(numbers))
      result.set(lane, *number);
  }
  return result;
}
