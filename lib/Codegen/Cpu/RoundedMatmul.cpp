//===- RoundedMatmul.cpp - Products of rounded activations -----------------===//
//
// In rows, i4 are multiplied in 16 bits: a word of 16 bits holds four of them, and sums of up to 16
// products of at most 15 * 127 are exact there; i8 are multiplied in 32. In columns, products of
// neighbours are added at once.
//
//===----------------------------------------------------------------------===//

#include "RoundedMatmul.h"
#include "FactorB.h"
#include "Integers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

namespace {

/// i4 in a word of 16 bits, and products whose sum such a word holds.
constexpr int64_t kOfWord = 4, kExactTerms = 16;
/// Columns of an [out, in] weight that are added up together, and of these the ones that are read
/// in step: processors foresee four long streams, and lose eight.
constexpr int64_t kRows = 8, kStreams = 4;
/// Of each stream.
constexpr int64_t kBytesAhead = 2048;

//===----------------------------------------------------------------------===//
// One row of C
//===----------------------------------------------------------------------===//

/// What a function is written for.
struct RowForm {
  int64_t inner, strip, group; // terms, columns at most, and activations that share a scale
  bool transposed, initial;
  bool evenGroups; // rows of B are an even number of groups
};

/// Writes gemm_TYPE_by_FORMAT_rounded_...(a, b, pitch, initial, c, columns).
class RoundedWriter {
public:
  RoundedWriter(Writer &w, const RowForm &form) : w(w), form(form) {}

  void write() { form.transposed ? writeColumns() : writeRows(); }

private:
  //===--------------------------------------------------------------------===//
  // Rounded activations
  //===--------------------------------------------------------------------===//

  int64_t groups() const { return form.inner / form.group; }
  int64_t vectorsOfGroup() const { return form.group / w.sizes.lanes; }
  bool isNibbles() const { return w.held.hasZeros(); }

  using Factors = function_ref<Num(int64_t vector)>;
  /// The factors of a group as integers, a vector after the other; their scale is stored.
  SmallVector<Integers> round(Factors factors, Pointer scaleTo) {
    // Without signs, numbers are in the order of their bits, and NaN is above all.
    Integers most = zeros(w, VectorType::get(w.sizes.lanes, i32()));
    for (int64_t v = 0; v < vectorsOfGroup(); ++v)
      most = most.with<arith::MaxSIOp>((wordsOf(factors(v)) & 0x7FFFFFFF).value);
    Value largest =
        vector::ReductionOp::create(w.builder, w.loc(), vector::CombiningKind::MAXSI, most.value);
    Value number = arith::BitcastOp::create(w.builder, w.loc(), w.accumulatorType, largest);
    Num scale = Num{&w.builder, number} / 127.0, each = w.spread(scale);
    w.store(scaleTo, scale);
    SmallVector<Integers> rounded;
    for (int64_t v = 0; v < vectorsOfGroup(); ++v)
      rounded.push_back(nearest(factors(v) / each));
    return rounded;
  }
  /// To nearest and ties to even: adding a number whose last place is 1 rounds. A scale that is no
  /// normal number may be too small for the largest factor.
  Integers nearest(Num x) {
    Integers sum = wordsOf(x + static_cast<double>(3 << 22));
    sum = sum - Integers{&w, sum.like(0x4B400000)};
    return sum.with<arith::MinSIOp>(sum.like(127)).with<arith::MaxSIOp>(sum.like(-127));
  }
  Integers wordsOf(Num x) {
    auto type = cast<VectorType>(x.type());
    return {&w, arith::BitcastOp::create(w.builder, w.loc(), type.clone(i32()), x.value)};
  }

  void storeIntegers(Pointer to, Integers x) {
    LLVM::StoreOp::create(w.builder, w.loc(), x.value, to.address, /*alignment=*/4);
  }
  Integers loadIntegers(Pointer from, Type type) {
    return {&w, LLVM::LoadOp::create(w.builder, w.loc(), type, from.address, /*alignment=*/4)};
  }
  Type i32() { return w.builder.getI32Type(); }
  Type i16() { return w.builder.getIntegerType(16); }
  Type i8() { return w.builder.getI8Type(); }

  using Body = function_ref<SmallVector<Value>(Index, ValueRange carried)>;
  ValueRange carry(Index upper, ValueRange initial, Body body) {
    auto loop = scf::ForOp::create(w.builder, w.loc(), w.constant(0).value, upper.value,
                                   w.constant(1).value, initial);
    OpBuilder::InsertionGuard guard(w.builder);
    w.builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = body({&w.builder, loop.getInductionVar()}, loop.getRegionIterArgs());
    scf::YieldOp::create(w.builder, w.loc(), next);
    return loop.getResults();
  }
  SmallVector<Integers> integers(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value x) { return Integers{&w, x}; });
  }
  SmallVector<Value> valuesOf(ArrayRef<Integers> all) {
    return llvm::map_to_vector(all, [](Integers x) { return x.value; });
  }

  //===--------------------------------------------------------------------===//
  // B in rows: groups of B lie along the columns
  //===--------------------------------------------------------------------===//

  /// Columns that are summed together, in four vectors: all of one group.
  int64_t part() const { return w.held.group % 64 == 0 ? 64 : 32; }
  int64_t partLanes() const { return part() / 4; }

  void writeRows() {
    Index held = columns / w.held.group;
    w.forEach(w.constant(0), held, 1, [&](Index number) { roundForGroup(number); });
    w.forEach(w.constant(0), columns, w.sizes.lanes,
              [&](Index j) { w.store(sums + j, w.zeros(), true); });
    w.forEach(w.constant(0), w.constant(form.inner), form.group, [&](Index block) {
      forVectors([&](Index at, Index) { storeIntegers(exact + at, zeros(w, partWords())); });
      w.forEach(block, block + form.group, kExactTerms, [&](Index k) {
        Index ahead = distanceAhead(k);
        w.forEach(w.constant(0), columns, part(), [&](Index j) { addTerms(k, j, ahead); });
      });
      forVectors([&](Index at, Index number) { addExact(block / form.group, at, number); });
    });
    w.forEach(w.constant(0), columns, part(), [&](Index j) { storePart(j); });
  }

  /// Of the `number`-th group of columns: activations times its scales are rounded.
  void roundForGroup(Index number) {
    Index first = b.groupOf(w.constant(0)) + number, pitch = bPitch / w.held.group;
    w.forEach(w.constant(0), w.constant(form.inner), 1, [&](Index k) {
      Index group = first + k * pitch;
      w.store(factors + k, w.load(a + k, 1) * b.scaleOf(group));
      if (isNibbles())
        storeIntegers(zeroPoints + k, Integers{&w, b.zeroBitsOf(group)} & 15);
    });
    w.forEach(w.constant(0), w.constant(groups()), 1, [&](Index block) {
      int64_t lanes = w.sizes.lanes;
      Index k = block * form.group, place = number * form.inner + k;
      auto all = round([&](int64_t v) { return w.load(factors + (k + v * lanes), lanes, true); },
                       scales + (number * groups() + block));
      for (auto [v, x] : llvm::enumerate(all)) {
        int64_t term = static_cast<int64_t>(v) * lanes;
        if (isNibbles())
          storeOffset(k + term, place + term, x);
        // i4 are multiplied two in a word of 32 bits.
        storeIntegers(rounded + (place + term), isNibbles() ? twice(x) : x);
      }
    });
  }

  /// In both halves of a word.
  Integers twice(Integers x) { return (x & 0xFFFF) * Integers{&w, x.like(0x10001)}; }

  /// What zero points take from a sum of `kExactTerms` products, a vector of them, where it begins.
  void storeOffset(Index k, Index place, Integers x) {
    Integers taken = x * loadIntegers(zeroPoints + k, x.value.getType());
    Value sum =
        vector::ReductionOp::create(w.builder, w.loc(), vector::CombiningKind::ADD, taken.value);
    Integers none{&w,
                  arith::ConstantOp::create(w.builder, w.loc(), w.builder.getI32IntegerAttr(0))};
    storeIntegers(offsets + place / kExactTerms, twice(none - Integers{&w, sum}));
  }

  /// Vectors of sums: where they begin, and the number of their group of columns.
  void forVectors(function_ref<void(Index at, Index number)> body) {
    w.forEach(w.constant(0), columns, partLanes(), [&](Index at) { body(at, at / w.held.group); });
  }
  VectorType partWords() { return VectorType::get(partLanes(), i32()); }

  /// Exact sums of a group of terms, times its scale.
  void addExact(Index block, Index at, Index number) {
    Num scale = w.load(scales + (number * groups() + block), 1);
    Num each{&w.builder, spread(w, scale.value, partLanes())};
    Num x = loadIntegers(exact + at, partWords()).asNumbers();
    w.store(sums + at, fma(x, each, w.load(sums + at, partLanes())));
  }

  /// `kExactTerms` terms from `k` on: few rows of B are read together, as those of many would take
  /// each other's places in the first cache.
  void addTerms(Index k, Index j, Index ahead) {
    Index place = j / w.held.group * form.inner + k;
    auto added = isNibbles() ? sumNibbles(k, j, place, ahead) : sumBytes(k, j, place, ahead);
    for (auto [v, x] : llvm::enumerate(added)) {
      Pointer at = exact + (j + static_cast<int64_t>(v) * partLanes());
      storeIntegers(at, loadIntegers(at, partWords()) + x);
    }
  }

  SmallVector<Integers> sumBytes(Index k, Index j, Index place, Index ahead) {
    SmallVector<Value> none(4, zeros(w, partWords()).value);
    ValueRange sums = carry(w.constant(kExactTerms), none, [&](Index t, ValueRange carried) {
      FactorB line = b + ((k + t) * bPitch + j);
      line.prefetch(ahead);
      Value x = loadIntegers(rounded + (place + t), i32()).value;
      Integers factor{&w, spread(w, x, partLanes())};
      SmallVector<Integers> next = integers(carried);
      for (int64_t v = 0; v < 4; ++v) {
        Index byte = w.constant(v * partLanes());
        Integers numbers{&w, line.loadStored(byte, partLanes(), w.builder.getI8Type())};
        next[v] = next[v] + numbers.asWords() * factor;
      }
      return valuesOf(next);
    });
    return integers(sums);
  }

  /// Column 4 i + p is lane i of vector p.
  SmallVector<Integers> sumNibbles(Index k, Index j, Index place, Index ahead) {
    auto halves = VectorType::get(partLanes(), i16());
    auto spreadHalves = [&](Pointer from) {
      Value both = spread(w, loadIntegers(from, i32()).value, partLanes() / 2);
      return bitsOf(w, both, halves);
    };
    SmallVector<Value> initial(kOfWord, spreadHalves(offsets + place / kExactTerms).value);
    ValueRange sums = carry(w.constant(kExactTerms), initial, [&](Index t, ValueRange carried) {
      FactorB line = b + ((k + t) * bPitch + j);
      line.prefetch(ahead);
      Integers numbers{&w, line.loadStored(w.constant(0), partLanes(), i16())};
      Integers factor = spreadHalves(rounded + (place + t));
      SmallVector<Integers> next = integers(carried);
      for (int64_t p = 0; p < kOfWord; ++p)
        next[p] = next[p] + nibble(numbers, p) * factor;
      return valuesOf(next);
    });
    return llvm::map_to_vector(integers(sums), [](Integers x) { return x.asWords(); });
  }

  Integers nibble(Integers words, int64_t place) {
    Integers lowest = words.down(4 * place);
    return place + 1 == kOfWord ? lowest : lowest & 15;
  }

  /// To the rows that are read some KiB later, or behind the last one those of the next columns.
  Index distanceAhead(Index k) {
    int64_t bytes = kExactTerms * form.strip * w.held.bits() / 8;
    int64_t terms = kExactTerms * std::clamp<int64_t>(8192 / bytes, 1, 4);
    Value isInside = less(k + terms, w.constant(form.inner));
    Index below = bPitch * terms, behind = bPitch * (terms - form.inner) + columns;
    return {&w.builder,
            arith::SelectOp::create(w.builder, w.loc(), isInside, below.value, behind.value)};
  }

  void storePart(Index j) {
    SmallVector<Num> all;
    for (int64_t v = 0; v < 4; ++v)
      all.push_back(w.load(sums + (j + v * partLanes()), partLanes()));
    if (isNibbles())
      return storeSums(j, inOrder(all));
    for (auto [v, x] : llvm::enumerate(all))
      storeSums(j + static_cast<int64_t>(v) * partLanes(), x);
  }

  Num inOrder(ArrayRef<Num> places) {
    auto interleave = [&](Num x, Num y) {
      int64_t lanes = cast<VectorType>(x.type()).getNumElements();
      SmallVector<int64_t> order;
      for (int64_t lane = 0; lane < 2 * lanes; ++lane)
        order.push_back(lane % 2 * lanes + lane / 2);
      return Num{&w.builder,
                 vector::ShuffleOp::create(w.builder, w.loc(), x.value, y.value, order)};
    };
    return interleave(interleave(places[0], places[2]), interleave(places[1], places[3]));
  }

  void storeSums(Index j, Num sum) {
    int64_t lanes = cast<VectorType>(sum.type()).getNumElements();
    w.store(c + j, form.initial ? sum + w.load(initial + j, lanes) : sum);
  }

  //===--------------------------------------------------------------------===//
  // B transposed: groups of B lie along the terms
  //===--------------------------------------------------------------------===//

  void writeColumns() {
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
    // Beyond the last column is the last.
    auto last = llvm::map_to_vector(llvm::seq<int64_t>(0, kRows), [&](int64_t column) {
      return minimum(w.constant(column), rest - 1);
    });
    w.ifThen(less(w.constant(0), rest),
             [&] { storeColumns(whole, last, sumColumns(whole, last)); });
  }

  /// A constant that LLVM does not know: where it knows numbers to be small, it does without the
  /// limits of `sumsOfBytePairs`, and where it knows them to be 1, without products, and then does
  /// not see the instruction.
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

  /// Of 64 neighbours those in the lower halves of B's bytes, then those in the upper ones.
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
            static_cast<int64_t>(v) * lanes / 4 + half * lanes / 2; // in words of 32 bits
        storeIntegers(rounded + (k / 4 + place), chosenLanes(lower, upper, order));
      }
    }
  }

  /// Of columns that lie `rows` rows of memory behind `j`.
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

  /// Of each group of activations the exact sums of `kStreams` columns from `first` on, in lanes.
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

  /// Asks for a group of a stream some way ahead, behind the row's end for that of the next row.
  void prefetchGroup(const FactorB &line, Index k) {
    const int64_t bits = w.held.bits(), ahead = kBytesAhead * 8 / bits;
    for (int64_t first = 0; first < form.group; first += 512 / bits)
      line.prefetch(k + (ahead + first));
  }
  Pointer lanesOf(Index block, int64_t column) {
    return exact + (block * (kRows * kRows) + column * kRows);
  }

  /// Of one group of each column, in the order of the columns.
  struct HeldGroup {
    Num scale;
    Integers zeros; // of i4
  };

  /// Groups `number` of each column; where rows are an even number of groups, two, whose zero
  /// points share a byte.
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

  /// The first numbers of eight pairs, and the second ones.
  std::pair<Num, Num> separatePairs(ArrayRef<Value> pairs) {
    SmallVector<Value> left(pairs);
    for (int64_t size = 1; size < kRows; size *= 2) {
      SmallVector<int64_t> order; // firsts of both, then seconds of both
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

  /// The terms of group `number` of each column.
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

  /// Sums of products of a group of activations, of each column one.
  Integers sumsOfBlock(Index block) {
    auto eight = llvm::map_to_vector(llvm::seq<int64_t>(0, kRows), [&](int64_t column) {
      return loadIntegers(lanesOf(block, column), VectorType::get(kRows, i32()));
    });
    return sumsOfLanes(eight);
  }

  /// The terms of a group of activations from `k` on.
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

  Writer &w;
  RowForm form;
  Pointer a = w.pointer(0, w.element), initial = w.pointer(3, w.element),
          c = w.pointer(4, w.element);
  FactorB b{w, 1};
  Index bPitch = w.index(2), columns = w.index(5);
  /// Groups of columns that have rounded activations of their own.
  int64_t ofColumns = form.transposed ? 1 : form.strip / w.held.group;
  Pointer factors = w.panel(form.transposed ? 1 : form.inner),
          zeroPoints = w.panel(form.transposed || !isNibbles() ? 1 : form.inner);
  Pointer rounded = w.panel(ofColumns * form.inner), scales = w.panel(ofColumns * groups());
  /// Of i4: what zero points take, of `kExactTerms` terms each, or sums of rounded activations.
  Pointer offsets = w.panel(ofColumns * form.inner / kExactTerms);
  Pointer sums = w.panel(form.transposed ? kRows : form.strip),
          exact = w.panel(form.transposed ? groups() * kRows * kRows : form.strip);
  Value lowHalves;
  Integers ones = {};
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions and their calls
//===----------------------------------------------------------------------===//

func::FuncOp Functions::rounded(int64_t inner, int64_t strip, int64_t group, bool transposedB,
                                bool initial, bool evenGroups) {
  SmallVector<Type> types = {pointer, pointer, index, pointer, pointer, index};
  std::string name =
      ("rounded_" + Twine(transposedB ? "t" : "n") + Twine(group) + "_" + Twine(inner) + "x" +
       Twine(strip) + (initial ? "_initial" : "") + (evenGroups ? "" : "_odd"))
          .str();
  RowForm form{inner, strip, group, transposedB, initial, evenGroups};
  return defineWithB(name, types, [&](Writer &w) { RoundedWriter(w, form).write(); });
}

/// Some for each of many threads, wide enough to be read in order, and to round activations seldom.
int64_t llmmem::roundedStrip(const Matmul &p) {
  if (p.b.transposed)
    return std::clamp<int64_t>(llvm::divideCeil(p.columns, 8 * kRows), 16, 128) * kRows;
  constexpr int64_t mostOfStack = 1
                                  << 16; // numbers of a thread's rounded panel, a strip by `inner`
  int64_t groups = p.columns / p.b.held.format.group;
  int64_t most = std::clamp<int64_t>(groups / 4, 1, std::max<int64_t>(1, mostOfStack / p.inner));
  while (groups % most != 0)
    --most;
  return most * p.b.held.format.group;
}

void llmmem::emitRoundedRow(Operation *op, KernelEmitter &e, const Matmul &p, Index row,
                            Index column, Index columns, const Matrix &target, Index to) {
  Functions functions(op->getParentOfType<ModuleOp>(), op->getLoc(), p.c.buffer.element,
                      p.b.held.format);
  func::FuncOp function = functions.rounded(p.inner, roundedStrip(p), *p.activationGroup,
                                            p.b.transposed, static_cast<bool>(p.initial.buffer),
                                            p.b.pitch % (2 * p.b.held.format.group) == 0);
  auto from = [&](const Matrix &matrix, Index offset) {
    Pointer base{&e.builder(), addressOf(op, e, matrix), matrix.buffer.element};
    return matrix.buffer ? (base + offset).address : base.address;
  };
  Index first = p.b.transposed ? column * p.b.pitch : column;
  SmallVector<Value> arguments = {
      from(p.a, row * p.a.pitch), addressOfB(op, e, p.b, first),
      e.index(p.b.pitch).value,   from(p.initial, row * p.initial.pitch + column),
      from(target, to),           columns.value};
  llvm::append_range(arguments, restOfB(op, e, p.b, first));
  func::CallOp::create(e.builder(), op->getLoc(), function, arguments);
}
