//===- LaneIntegers.h - An integer in each lane of a warp ------------------===//
//
//   LaneIntegers thread = ...;                           // 0 1 2 ... 31
//   LaneOp twice = *LaneOp::of(%2 = arith.muli %thread, %c2);
//   twice.apply({&thread, &two}, ~0u)                    // 0 2 4 ... 62
//
// A number that is alike in all lanes is computed once. Common arithmetic is done here; an op's own
// ranges (InferIntRangeInterface) give the rest, and what overflow and signs make of it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_KERNELANALYSIS_LANEINTEGERS_H
#define LLMMEM_LIB_KERNELANALYSIS_LANEINTEGERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include <array>

namespace llmmem {

/// Has a bit for each lane.
using Lanes = uint32_t;
inline bool contains(Lanes lanes, int64_t lane) { return lanes >> lane & 1; }

class LaneIntegers {
public:
  static constexpr int64_t kLanes = 32;

  /// It is known in no lane.
  LaneIntegers() {}
  /// It is the same in all lanes.
  explicit LaneIntegers(int64_t number) : isAlike(true), knownLanes(~Lanes(0)) {
    numbers[0] = number;
  }

  bool isUniform() const { return isAlike; }
  Lanes known() const { return knownLanes; }
  int64_t operator[](int64_t lane) const { return numbers[isAlike ? 0 : lane]; }

  void set(int64_t lane, int64_t number);
  /// Takes what `other` has, or does not have, in these lanes.
  void assign(const LaneIntegers &other, Lanes lanes);

private:
  void spread();

  bool isAlike = false;
  Lanes knownLanes = 0;
  std::array<int64_t, kLanes> numbers;
};

/// Represents an op whose result is an integer that follows from others.
class LaneOp {
public:
  /// Returns nothing if the result is never known, whatever the operands are.
  static std::optional<LaneOp> of(mlir::Operation &op);

  LaneIntegers apply(llvm::ArrayRef<const LaneIntegers *> operands, Lanes lanes) const;

private:
  enum class Kind {
    Add,
    Sub,
    Mul,
    Div,
    CeilDiv,
    Rem,
    And,
    Or,
    Xor,
    Min,
    Max,
    Compare,
    Select,
    Cast,
    Other
  };

  explicit LaneOp(mlir::InferIntRangeInterface op);
  std::optional<int64_t> inLane(llvm::ArrayRef<int64_t> operands) const;
  std::optional<int64_t> compute(llvm::ArrayRef<int64_t> operands) const;
  std::optional<int64_t> infer(llvm::ArrayRef<int64_t> operands) const;
  bool fits(int64_t number) const;

  mlir::InferIntRangeInterface op;
  Kind kind = Kind::Other;
  mlir::arith::CmpIPredicate predicate = mlir::arith::CmpIPredicate::eq;
  /// Count the bits of the result, and the fewest of an operand.
  unsigned width, fewestBits = 64;
};

} // namespace llmmem

#endif // LLMMEM_LIB_KERNELANALYSIS_LANEINTEGERS_H
