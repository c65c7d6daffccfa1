//===- RoundedRows.cpp - Products of rounded activations by rows of B ----===//
//
// i4 are multiplied in 16 bits: a word of 16 bits holds four of them, and sums of up to 16 products
// of at most 15 * 127 are exact there. i8 are multiplied in 32 bits.
//
//===----------------------------------------------------------------------===//

#include "RoundedWriter.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

namespace {

/// Counts the i4 in a word of 16 bits.
constexpr int64_t kOfWord = 4;

class RoundedRows : RoundedWriter {
public:
  using RoundedWriter::RoundedWriter;
  void write();

private:
  /// Returns the columns that are summed together, in four vectors: all in one group.
  int64_t part() const { return w.held.group % 64 == 0 ? 64 : 32; }
  int64_t partLanes() const { return part() / 4; }

  /// For the `number`-th group of columns, rounds activations times its scales.
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

  /// Copies the number to both halves of a word.
  Integers twice(Integers x) { return (x & 0xFFFF) * Integers{&w, x.like(0x10001)}; }

  /// Stores what zero points subtract from a sum of `kExactTerms` products, a vector of them, at
  /// its beginning.
  void storeOffset(Index k, Index place, Integers x) {
    Integers taken = x * loadIntegers(zeroPoints + k, x.value.getType());
    Value sum =
        vector::ReductionOp::create(w.builder, w.loc(), vector::CombiningKind::ADD, taken.value);
    Integers none{&w,
                  arith::ConstantOp::create(w.builder, w.loc(), w.builder.getI32IntegerAttr(0))};
    storeIntegers(offsets + place / kExactTerms, twice(none - Integers{&w, sum}));
  }

  /// Visits vectors of sums: where they begin, and the number of their group of columns.
  void forVectors(function_ref<void(Index at, Index number)> body) {
    w.forEach(w.constant(0), columns, partLanes(), [&](Index at) { body(at, at / w.held.group); });
  }
  VectorType partWords() { return VectorType::get(partLanes(), i32()); }

  /// Adds the exact sums of a group of terms, times its scale.
  void addExact(Index block, Index at, Index number) {
    Num scale = w.load(scales + (number * groups() + block), 1);
    Num each{&w.builder, spread(w, scale.value, partLanes())};
    Num x = loadIntegers(exact + at, partWords()).asNumbers();
    w.store(sums + at, fma(x, each, w.load(sums + at, partLanes())));
  }

  /// Adds `kExactTerms` terms from `k` on. Few rows of B are read together, because those of many
  /// would evict each other from the first cache.
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

  /// Returns the distance to the rows that are read some KiB later or, after the last one, to those
  /// of the next columns.
  Index distanceAhead(Index k) {
    int64_t bytes = kExactTerms * form.strip * w.held.bits() / 8;
    int64_t terms = kExactTerms * std::clamp<int64_t>(8192 / bytes, 1, 4);
    Value isInside = less(k + terms, w.constant(form.inner));
    Index below = bPitch * terms, after = bPitch * (terms - form.inner) + columns;
    return {&w.builder,
            arith::SelectOp::create(w.builder, w.loc(), isInside, below.value, after.value)};
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
};

} // namespace

void RoundedRows::write() {
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

void gemm::writeRoundedRows(Writer &w, const RowForm &form) { RoundedRows(w, form).write(); }
