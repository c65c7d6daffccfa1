//===- PriceProgram.cpp - The highest point below a few lines ----------------------===//

#include "PriceProgram.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;

/// Sets up the dual program, which mixes lines: shares that add up to 1, whose mean excess is at
/// most 0 at each program point, at the least mean cost. A new line is a new column, so that the
/// basis before is the start of the simplex method.
PriceProgram::PriceProgram(size_t numPrices, double most) : costUnit(most) {
  for (size_t programPoint = 0; programPoint < numPrices; ++programPoint) {
    columns.push_back({0, Row(numPrices + 1, 0)});
    columns.back().entries[programPoint + 1] = 1;
  }
  columns.push_back({1, Row(numPrices + 1, 0)});
  columns.back().entries[0] = 1;
  for (size_t column = 0; column < columns.size(); ++column)
    basis.push_back(column);
}

void PriceProgram::add(double cost, llvm::ArrayRef<double> excesses) {
  if (excessUnit == 0)
    for (double excess : excesses)
      excessUnit = std::max(excessUnit, std::abs(excess));
  Column column{cost / costUnit, Row{1}};
  for (double excess : excesses)
    column.entries.push_back(excessUnit > 0 ? excess / excessUnit : 0);
  columns.push_back(std::move(column));
}

/// Inverts the basis by Gauss and Jordan. Returns false where it has no inverse.
bool PriceProgram::invert() {
  const size_t size = basis.size();
  llvm::SmallVector<Row, 4> rows;
  inverse.assign(size, Row(size, 0));
  for (size_t row = 0; row < size; ++row) {
    Row &entries = rows.emplace_back();
    for (size_t column : basis)
      entries.push_back(columns[column].entries[row]);
    inverse[row][row] = 1;
  }
  for (size_t at = 0; at < size; ++at) {
    size_t pivot = at;
    for (size_t row = at + 1; row < size; ++row)
      if (std::abs(rows[row][at]) > std::abs(rows[pivot][at]))
        pivot = row;
    if (std::abs(rows[pivot][at]) < 1e-12)
      return false;
    std::swap(rows[at], rows[pivot]);
    std::swap(inverse[at], inverse[pivot]);
    for (size_t row = 0; row < size; ++row) {
      const double factor = row == at ? 1 - 1 / rows[at][at] : rows[row][at] / rows[at][at];
      if (factor == 0)
        continue;
      for (size_t column = 0; column < size; ++column) {
        const double over = rows[at][column], overInverse = inverse[at][column];
        rows[row][column] -= factor * over;
        inverse[row][column] -= factor * overInverse;
      }
    }
  }
  return true;
}

PriceProgram::Row PriceProgram::times(const Row &entries) const {
  Row product;
  for (const Row &row : inverse) {
    double sum = 0;
    for (size_t at = 0; at < entries.size(); ++at)
      sum += row[at] * entries[at];
    product.push_back(sum);
  }
  return product;
}

std::optional<PriceProgram::Point> PriceProgram::highest() {
  constexpr int mostPivots = 60;
  constexpr double nothing = 1e-11;
  const size_t size = basis.size();
  for (int pivots = 0; pivots < mostPivots; ++pivots) {
    if (!invert())
      return std::nullopt;
    Row multipliers(size, 0);
    for (size_t row = 0; row < size; ++row)
      for (size_t at = 0; at < size; ++at)
        multipliers[at] += columns[basis[row]].cost * inverse[row][at];
    size_t entering = columns.size();
    double least = -nothing;
    for (size_t index = 0; index < columns.size(); ++index) {
      double reduced = columns[index].cost;
      for (size_t at = 0; at < size; ++at)
        reduced -= multipliers[at] * columns[index].entries[at];
      if (reduced < least) {
        least = reduced;
        entering = index;
      }
    }
    if (entering == columns.size()) {
      Point point{multipliers[0] * costUnit, {}};
      for (double multiplier : llvm::ArrayRef(multipliers).drop_front())
        point.prices.push_back(excessUnit > 0 ? std::max(0.0, -multiplier) * costUnit / excessUnit
                                              : 0);
      return point;
    }
    const Row change = times(columns[entering].entries);
    size_t leaving = size;
    double shortest = 0;
    for (size_t row = 0; row < size; ++row) {
      if (change[row] <= nothing)
        continue;
      const double share = std::max(0.0, inverse[row][0]) / change[row];
      if (leaving == size || share < shortest ||
          (share == shortest && basis[row] < basis[leaving])) {
        shortest = share;
        leaving = row;
      }
    }
    if (leaving == size)
      return std::nullopt;
    basis[leaving] = entering;
  }
  return std::nullopt;
}
