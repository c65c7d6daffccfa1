//===- RoundedColumns.cpp - Products of rounded activations by columns of B ===//
//
// Products of neighbours are added at once, and streams of columns are read in step.
//
//===----------------------------------------------------------------------===//

#include "RoundedWriter.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

namespace {

/// Limits the columns that are read in step, among those that are added up together: processors
/// predict four long streams, and lose eight.
constexpr int64_t kStreams = 4;
/// Applies to each stream.
constexpr int64_t kBytesAhead = 2048;

class RoundedColumns : RoundedWriter {
public:
  using RoundedWriter::RoundedWriter;
  void write();

private:
  /// Returns a constant that LLVM does not know. Where it knows numbers to be small, it drops the
  /// limits of `sumsOfBytePairs`, and where it knows them to be 1, the products, and then does not
  /// recognise the instruction.
  Value fromMemory(int64_t lanes, Type element, int64_t number) {
    auto type = VectorType::get(lanes, element);
    storeIntegers(exact, {&w, zeros(w, type).like(number)});
    return LLVM::LoadOp::create(w.builder, w.loc(), type, exact.address, /*alignment=*/4,
                                /*isVolatile=*/true);
  }

  void storeColumns(Index j, ArrayRef<Index> places, Num all) {
    w.store(sums, all);
    for (auto [column, place] : llvm::enumerate(places)) {
      Index at = j + place;
      Num sum = w.load(sums + w.constant(static_cast<int64_t>(column)), 1);
      w.store(c + at, form.initial ? sum + w.load(initial + at, 1) : sum);
    }
  }

  void roundBlock(Index block) {
    int64_t lanes = w.sizes.lanes;
    Index k = block * form.group;
    auto all = round([&](int64_t v) { return w.load(a + (k + v * lanes), lanes); }, scales + block);
    if (!isNibbles()) {
      for (auto [v, x] : llvm::enumerate(all))
        storeIntegers(rounded + (k + static_cast<int64_t>(v) * lanes) / 2, x.narrow(16));
      return;
    }
    Integers sum = all.front();
    for (Integers x : ArrayRef(all).drop_front())
      sum = sum + x;
    Value total =
        vector::ReductionOp::create(w.builder, w.loc(), vector::CombiningKind::ADD, sum.value);
    storeIntegers(offsets + block, {&w, total});
    storeByPlaces(k, all);
  }

  /// Stores, of 64 neighbours, those in the lower halves of B's bytes, then those in the upper
  /// ones.
  void storeByPlaces(Index k, ArrayRef<Integers> all) {
    int64_t lanes = w.sizes.lanes;
    auto both = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
    for (size_t v = 0; v < all.size(); v += 4) {
      auto bytes = [&](size_t i) { return all[v + i].narrow(8); };
      Integers lower = chosenLanes(bytes(0), bytes(1), both),
               upper = chosenLanes(bytes(2), bytes(3), both);
      for (int64_t half = 0; half < 2; ++half) {
        auto order = llvm::map_to_vector(both, [&](int64_t lane) { return 2 * lane + half; });
        int64_t place =
            static_cast<int64_t>(v) * lanes / 4 + half * lanes / 2; // In words of 32 bits.
        storeIntegers(rounded + (k / 4 + place), chosenLanes(lower, upper, order));
      }
    }
  }

  /// Sums columns that lie `rows` rows of memory after `j`.
  Num sumColumns(Index j, ArrayRef<Index> rows) {
    for (int64_t column = 0; column < kRows; column += kStreams)
      sumStreams(j, rows.slice(column, kStreams), column);
    auto firstGroups =
        llvm::map_to_vector(rows, [&](Index row) { return b.groupOf((j + row) * bPitch); });
    Value none = arith::ConstantOp::create(
        w.builder, w.loc(), w.builder.getZeroAttr(VectorType::get(kRows, w.accumulatorType)));
    int64_t together = form.evenGroups ? 2 : 1;
    ValueRange sum =
        carry(w.constant(form.inner / w.held.group / together), none,
              [&](Index number, ValueRange carried) {
                Num next{&w.builder, carried[0]};
                for (auto [i, group] : llvm::enumerate(loadGroups(firstGroups, number * together)))
                  next = addHeldGroup(number * together + static_cast<int64_t>(i), group, next);
                return SmallVector<Value>{next.value};
              });
    return {&w.builder, sum[0]};
  }

  /// Sums, for each group of activations, the exact sums of `kStreams` columns from `first` on, in
  /// lanes.
  void sumStreams(Index j, ArrayRef<Index> rows, int64_t first) {
    auto lines = llvm::map_to_vector(rows, [&](Index row) { return b + (j + row) * bPitch; });
    w.forEach(w.constant(0), w.constant(groups()), 1, [&](Index block) {
      Index k = block * form.group;
      for (auto [stream, line] : llvm::enumerate(lines)) {
        prefetchGroup(line, k);
        storeIntegers(lanesOf(block, first + static_cast<int64_t>(stream)),
                      isNibbles() ? sumOfNibbles(line, k) : sumOfBytes(line, k));
      }
    });
  }

  /// Prefetches a group of a stream some way ahead; beyond the end of the row this is that of the
  /// next row.
  void prefetchGroup(const FactorB &line, Index k) {
    const int64_t bits = w.held.bits(), ahead = kBytesAhead * 8 / bits;
    for (int64_t first = 0; first < form.group; first += 512 / bits)
      line.prefetch(k + (ahead + first));
  }
  Pointer lanesOf(Index block, int64_t column) {
    return exact + (block * (kRows * kRows) + column * kRows);
  }

  /// Describes one group of each column, in the order of the columns.
  struct HeldGroup {
    Num scale;
    Integers zeros; // For i4.
  };

  /// Loads groups `number` of each column. Where rows are an even number of groups it loads two,
  /// whose zero points share a byte.
  SmallVector<HeldGroup, 2> loadGroups(ArrayRef<Index> firstGroups, Index number) {
    if (form.evenGroups)
      return loadTwoGroups(firstGroups, number);
    SmallVector<Value> scales, bytes, shifts;
    for (Index first : firstGroups) {
      Index group = first + number;
      scales.push_back(b.scaleOf(group).value);
      if (!isNibbles())
        continue;
      bytes.push_back(b.zeroByte(group / 2));
      shifts.push_back(
          arith::IndexCastOp::create(w.builder, w.loc(), i32(), (group % 2 * 4).value));
    }
    HeldGroup one{{&w.builder, vectorOf(scales)}, {}};
    if (isNibbles())
      one.zeros = wordsOf(bytes).with<arith::ShRUIOp>(vectorOf(shifts)) & 15;
    return {one};
  }

  SmallVector<HeldGroup, 2> loadTwoGroups(ArrayRef<Index> firstGroups, Index number) {
    SmallVector<Value> pairs, bytes;
    for (Index first : firstGroups) {
      pairs.push_back(b.scalesOf(first + number, 2).value);
      if (isNibbles())
        bytes.push_back(b.zeroByte(first / 2 + number / 2));
    }
    auto [first, second] = separatePairs(pairs);
    if (!isNibbles())
      return {{first, {}}, {second, {}}};
    Integers both = wordsOf(bytes);
    return {{first, both & 15}, {second, both.down(4)}};
  }

  /// Returns the first numbers of eight pairs, and the second ones.
  std::pair<Num, Num> separatePairs(ArrayRef<Value> pairs) {
    SmallVector<Value> left(pairs);
    for (int64_t size = 1; size < kRows; size *= 2) {
      SmallVector<int64_t> order; // First those that come first in both, then those that come
                                  // second.
      for (int64_t half : {0, 1})
        for (int64_t of : {0, 1})
          for (int64_t i = 0; i < size; ++i)
            order.push_back(of * 2 * size + half * size + i);
      SmallVector<Value> next;
      for (size_t i = 0; i < left.size(); i += 2)
        next.push_back(vector::ShuffleOp::create(w.builder, w.loc(), left[i], left[i + 1], order));
      left = next;
    }
    auto half = [&](int64_t begin) {
      auto order = llvm::to_vector(llvm::seq<int64_t>(begin, begin + kRows));
      return Num{&w.builder,
                 vector::ShuffleOp::create(w.builder, w.loc(), left[0], left[0], order)};
    };
    return {half(0), half(kRows)};
  }

  Integers wordsOf(ArrayRef<Value> bytes) {
    return {&w, wordsOfBytes(w.builder, w.loc(), vectorOf(bytes))};
  }

  /// Adds the terms of group `number` of each column.
  Num addHeldGroup(Index number, const HeldGroup &group, Num sum) {
    Index begin = number * w.held.group;
    ValueRange result = carry(
        w.constant(w.held.group / form.group), sum.value, [&](Index step, ValueRange carried) {
          Index block = (begin + step * form.group) / form.group;
          Integers exact = sumsOfBlock(block);
          if (isNibbles()) {
            Value total = loadIntegers(offsets + block, i32()).value;
            Integers each{&w, spread(w, total, kRows)};
            exact = exact - group.zeros * each;
          }
          Num scaleOfStep{&w.builder, spread(w, w.load(scales + block, 1).value, kRows)};
          Num next = fma(exact.asNumbers(), scaleOfStep * group.scale, {&w.builder, carried[0]});
          return SmallVector<Value>{next.value};
        });
    return {&w.builder, result[0]};
  }

  Value vectorOf(ArrayRef<Value> elements) {
    auto type = VectorType::get(static_cast<int64_t>(elements.size()), elements[0].getType());
    return vector::FromElementsOp::create(w.builder, w.loc(), type, elements);
  }

  /// Returns the sums of products of a group of activations, one for each column.
  Integers sumsOfBlock(Index block) {
    auto eight = llvm::map_to_vector(llvm::seq<int64_t>(0, kRows), [&](int64_t column) {
      return loadIntegers(lanesOf(block, column), VectorType::get(kRows, i32()));
    });
    return sumsOfLanes(eight);
  }

  /// Sums the terms of a group of activations from `k` on.
  Integers sumOfBytes(const FactorB &line, Index k) {
    int64_t lanes = w.sizes.lanes;
    Integers sum = zeros(w, VectorType::get(lanes, i32()));
    for (int64_t first = 0; first < form.group; first += 2 * lanes) {
      Integers numbers{&w, line.loadStored(k + first, 2 * lanes, i8())};
      sum = sum + sumsOfPairs(numbers, loadIntegers(rounded + (k + first) / 2,
                                                    VectorType::get(2 * lanes, i16())));
    }
    auto lower = llvm::to_vector(llvm::seq<int64_t>(0, kRows)),
         upper = llvm::to_vector(llvm::seq<int64_t>(kRows, 2 * kRows));
    return chosenLanes(sum, sum, lower) + chosenLanes(sum, sum, upper);
  }

  /// Lanes add four products of 64 terms each, so those of a group are exact.
  Integers sumOfNibbles(const FactorB &line, Index k) {
    int64_t lanes = w.sizes.lanes;
    auto bytes = VectorType::get(2 * lanes, i8());
    Integers sum = zeros(w, VectorType::get(lanes, i16()));
    for (int64_t first = 0; first < form.group; first += 4 * lanes) {
      Integers numbers{&w, line.loadStored((k + first) / 2, 2 * lanes, i8())};
      Pointer even = rounded + (k + first) / 4, odd = even + w.constant(lanes / 2);
      Integers upper = bitsOf(w, numbers.value, VectorType::get(lanes, i16())).down(4);
      auto multiplied = [&](Integers x, Pointer factors) {
        return sumsOfBytePairs(x.with<arith::AndIOp>(lowHalves), loadIntegers(factors, bytes));
      };
      sum = sum + multiplied(numbers, even) + multiplied(bitsOf(w, upper.value, bytes), odd);
    }
    return sumsOfPairs(sum, ones);
  }

  Value lowHalves;
  Integers ones = {};
};

} // namespace

void RoundedColumns::write() {
  if (isNibbles()) {
    lowHalves = fromMemory(2 * w.sizes.lanes, i8(), 15);
    ones = {&w, fromMemory(w.sizes.lanes, i16(), 1)};
  }
  w.forEach(w.constant(0), w.constant(groups()), 1, [&](Index block) { roundBlock(block); });
  Index apart = columns / kRows * (kRows / kStreams), rest = columns % kRows,
        whole = columns - rest;
  auto inStreams = llvm::map_to_vector(llvm::seq<int64_t>(0, kRows), [&](int64_t column) {
    return apart * (column % kStreams) + column / kStreams;
  });
  w.forEach(w.constant(0), apart, kRows / kStreams,
            [&](Index j) { storeColumns(j, inStreams, sumColumns(j, inStreams)); });
  // Places beyond the last column repeat it.
  auto last = llvm::map_to_vector(llvm::seq<int64_t>(0, kRows), [&](int64_t column) {
    return minimum(w.constant(column), rest - 1);
  });
  w.ifThen(less(w.constant(0), rest), [&] { storeColumns(whole, last, sumColumns(whole, last)); });
}

void gemm::writeRoundedColumns(Writer &w, const RowForm &form) { RoundedColumns(w, form).write(); }
