//===- PriceProgram.h - The highest point below a few lines ------------------------===//
//
// A choice of what to hold at some program points costs cost + the sum of price x excess, a line in
// the prices. What is proved at any prices is no more than each line, so the highest point below
// all lines found so far bounds it, and its prices are worth trying next (Kelley, "The
// cutting-plane method for solving convex programs", 1960).
//
// Example: of the lines 10, 2 + 4 p and 6 - 2 p the highest point is 4 2/3, at a price of 2/3.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_PRICEPROGRAM_H
#define LLMMEM_LIB_PLANNING_BOUNDS_PRICEPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace llmmem::planning {

class PriceProgram {
public:
  /// Begins with a line that no price changes, of cost `most` > 0.
  PriceProgram(size_t numPrices, double most);

  void add(double cost, llvm::ArrayRef<double> excesses);

  struct Point {
    double height;
    llvm::SmallVector<double, 4> prices; // at least 0
  };
  /// Returns the highest point, or nothing where rounding errors lead nowhere.
  std::optional<Point> highest();

private:
  using Row = llvm::SmallVector<double, 5>;
  /// What multiplies an unknown of the dual program: the share of a line, or what a program point
  /// has to spare.
  struct Column {
    double cost;
    Row entries;
  };
  bool invert();
  Row times(const Row &entries) const;

  llvm::SmallVector<Column, 16> columns; // the spare ones first
  llvm::SmallVector<size_t, 4> basis;
  llvm::SmallVector<Row, 4> inverse; // inverse of the basis
  double costUnit, excessUnit = 0;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_PRICEPROGRAM_H
