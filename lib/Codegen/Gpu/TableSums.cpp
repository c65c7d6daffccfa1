//===- TableSums.cpp - Rows of a table summed by id, on a GPU -------------===//

#include "TableSums.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

/// A block has this number of rows.
static constexpr int64_t kRows = 64;
/// A thread reads this number of neighbouring ids at a time.
static constexpr int64_t kIdsOfThread = 4;
/// This is the capacity of a block's list of positions. More positions are summed list by list.
static constexpr int64_t kMostListed = 4096;

namespace {
/// Says how the rows of a table are divided among blocks, and the vectors of a row among threads.
struct Division {
  Division(KernelEmitter &e, int64_t size, int64_t width, int64_t ids)
      : width(width), rows(size / width), blocks(llvm::divideCeil(rows, kRows)),
        lanes(std::gcd<int64_t>(e.lanes(), width)), vectors(width / lanes),
        groupThreads(std::min<int64_t>(kBlockThreads, llvm::alignTo(vectors, kWarp))),
        groups(kBlockThreads / groupThreads),
        capacity(std::min<int64_t>(kMostListed, llvm::alignTo(ids, 4))) {}

  int64_t threads() const { return groups * groupThreads; }

  int64_t width, rows, blocks, lanes, vectors, groupThreads, groups, capacity;
};

/// Holds position times kRows plus row, in the order of the positions; positions by row; for each
/// row its first place there and how many it has; and how many each warp counts.
struct Lists {
  Buffer listed, sorted, begins, counts, ofWarps;
};

class TableSums {
public:
  TableSums(KernelEmitter &e, Buffer ids, Buffer terms, Buffer into, Buffer table, int64_t width,
            VocabularyPart &vocabulary)
      : e(e), ids(ids), terms(terms), into(into), table(table), vocabulary(vocabulary),
        division(e, table.size, width, ids.size) {}

  void emit();

private:
  /// 32 bits are enough for ids, positions and their numbers in lists, and cheaper to divide.
  Index word(int64_t constant) {
    auto attribute = e.builder().getI32IntegerAttr(static_cast<int32_t>(constant));
    return {&e.builder(), arith::ConstantOp::create(e.builder(), e.location(), attribute)};
  }
  Index asWord(Index number) { return cast(number, e.builder().getI32Type()); }
  Index asIndex(Index number) { return cast(number, e.builder().getIndexType()); }
  Index cast(Index number, Type type) {
    return {&e.builder(),
            arith::IndexCastOp::create(e.builder(), e.location(), type, number.value)};
  }
  /// Returns the row of an id, which is clamped into the vocabulary; none of the table's where
  /// another rank has it.
  Index placeOf(Index id) {
    Index clamped = minimum(maximum(id, word(0)), word(vocabulary.size - 1));
    return vocabulary.isPart() ? asWord(vocabulary.place(asIndex(clamped))) : clamped;
  }
  Index loadWord(Buffer words, Index place) { return {&e.builder(), e.loadRaw(words, place)}; }
  Value both(Value a, Value b) { return arith::AndIOp::create(e.builder(), e.location(), a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(e.builder(), e.location(), a, b); }
  Index choose(Value condition, Index a, Index b) {
    return {&e.builder(),
            arith::SelectOp::create(e.builder(), e.location(), condition, a.value, b.value)};
  }
  Index foldWord(Index lower, Index upper, int64_t step, Index initial,
                 function_ref<Index(Index, Index)> body) {
    Num first{&e.builder(), initial.value};
    Row last = foldSteps(e, lower, upper, step, first, [&](Index i, ArrayRef<Num> carried) -> Row {
      return {{&e.builder(), body(i, {&e.builder(), carried[0].value}).value}};
    });
    return {&e.builder(), last[0].value};
  }

  struct Found {
    Index row;   // Which of the block's rows.
    Value isOwn; // It is in the requested range, and the position is below the number of ids.
  };
  std::array<Found, kIdsOfThread> findOwn(Index first, Index fromRow, Index toRow);
  std::pair<Index, Index> countAcrossBlock(Index own);
  Index list(Index fromRow, Index toRow, Index number);
  using ListedBody = function_ref<Index(Index entry, Index carried)>;
  Index foldListed(Index count, Index initial, ListedBody body);
  void sort(Index count);
  void emitRow(Index first);
  Row addListed(Index row, Index vector, ArrayRef<Num> carried);

  KernelEmitter &e;
  Buffer ids, terms, into, table;
  VocabularyPart &vocabulary;
  const Division division;

  // The rest is known inside the launch.
  std::optional<Index> block, thread;
  Lists lists;
  Index numLists;
  Value isCrowded; // There is more than one list.
};
} // namespace

//===----------------------------------------------------------------------===//
// Lookups of the block's rows
//===----------------------------------------------------------------------===//

/// Returns the rows that this thread's ids from position `first` on look up.
std::array<TableSums::Found, kIdsOfThread> TableSums::findOwn(Index first, Index fromRow,
                                                              Index toRow) {
  OpBuilder &b = e.builder();
  int64_t together = std::gcd<int64_t>(ids.size, 4);
  std::array<Found, kIdsOfThread> found;
  for (int64_t k = 0; k < kIdsOfThread; k += together) {
    Index position = first + k;
    Value isId = less(position, e.index(ids.size));
    Value raw = e.loadRaw(ids, minimum(position, e.index(ids.size - together)), together);
    for (int64_t lane = 0; lane < together; ++lane) {
      Value one =
          together == 1 ? raw : vector::ExtractOp::create(b, e.location(), raw, lane).getResult();
      Index place = placeOf({&b, one}), row = place / division.blocks;
      Value isOfBlock = both(isId, equal(place - row * division.blocks, *block));
      if (vocabulary.isPart())
        isOfBlock = both(isOfBlock, both(less(word(-1), place), less(place, word(division.rows))));
      found[k + lane] = {row, both(isOfBlock, both(less(fromRow - 1, row), less(row, toRow)))};
    }
  }
  return found;
}

/// Returns the sum of `own` over the previous threads, and over all.
std::pair<Index, Index> TableSums::countAcrossBlock(Index own) {
  Index before = word(0), all = own, lane = *thread % kWarp, warp = *thread / kWarp;
  for (int32_t distance = 1; distance < kWarp; distance *= 2) {
    Index other{&e.builder(), exchange(e, {&e.builder(), all.value}, distance).value};
    before = choose(equal(lane / distance % 2, word(1)), before + other, before);
    all = all + other;
  }
  ifThen(e, equal(lane, word(0)), [&] { e.storeRaw(lists.ofWarps, asIndex(warp), all.value); });
  barrier(e);
  all = word(0);
  for (int64_t other = 0; other < lists.ofWarps.size; ++other) {
    Index count = loadWord(lists.ofWarps, e.index(other));
    before = choose(less(word(other), warp), before + count, before);
    all = all + count;
  }
  barrier(e);
  return {before, all};
}

/// Lists the positions that look up the block's rows [fromRow, toRow), as many as fit, after those
/// of the lists before list `number`; returns how many there are in all.
Index TableSums::list(Index fromRow, Index toRow, Index number) {
  barrierNeeding(e, 64); // Until here threads may read the previous list.
  int64_t stride = lists.ofWarps.size * kWarp * kIdsOfThread;
  Index skipped = number * division.capacity;
  Index all =
      foldWord(e.index(0), e.index(ids.size), stride, word(0), [&](Index begin, Index seen) {
        Index first = begin + asIndex(*thread) * kIdsOfThread;
        std::array<Found, kIdsOfThread> found = findOwn(first, fromRow, toRow);
        Index own = word(0);
        for (const Found &one : found)
          own = choose(one.isOwn, own + 1, own);
        auto [before, together] = countAcrossBlock(own);
        Index next = seen + before - skipped, place = asWord(first) * kRows;
        ifThen(e, less(word(0), own), [&] {
          for (auto [k, one] : llvm::enumerate(found)) {
            Value isInside = both(less(word(-1), next), less(next, word(division.capacity)));
            ifThen(e, both(one.isOwn, isInside), [&, next = next, one = one, k = k] {
              Index entry = place + static_cast<int64_t>(k * kRows) + one.row;
              e.storeRaw(lists.listed, asIndex(next), entry.value);
            });
            next = choose(one.isOwn, next + 1, next);
          }
        });
        return seen + together;
      });
  barrier(e);
  // Some rows of the block may have fewer lists than all of them.
  sort(asIndex(maximum(minimum(all - skipped, word(division.capacity)), word(0))));
  return all;
}

/// Folds over the first `count` of the list, of which four are loaded at a time: a list of a
/// frequent id is long, and a thread reads all of it.
Index TableSums::foldListed(Index count, Index initial, ListedBody body) {
  Index whole = count / 4 * 4;
  Index most = foldWord(e.index(0), whole, 4, initial, [&](Index first, Index carried) {
    Value entries = e.loadRaw(lists.listed, first, 4);
    for (int64_t k = 0; k < 4; ++k) {
      Value entry = vector::ExtractOp::create(e.builder(), e.location(), entries, k);
      carried = body({&e.builder(), entry}, carried);
    }
    return carried;
  });
  return foldWord(whole, count, 1, most,
                  [&](Index i, Index carried) { return body(loadWord(lists.listed, i), carried); });
}

/// Each thread takes a row: it counts the row's positions in the list, and stores them after those
/// of the previous rows.
void TableSums::sort(Index count) {
  Index row = *thread;
  auto isOf = [&](Index entry) { return equal(entry % kRows, row); };
  ifThen(e, less(row, word(kRows)), [&] {
    Index own = foldListed(
        count, word(0), [&](Index entry, Index sum) { return choose(isOf(entry), sum + 1, sum); });
    e.storeRaw(lists.counts, asIndex(row), own.value);
  });
  barrier(e);
  ifThen(e, less(row, word(kRows)), [&] {
    Index begin = foldWord(e.index(0), asIndex(row), 1, word(0), [&](Index before, Index sum) {
      return sum + loadWord(lists.counts, before);
    });
    e.storeRaw(lists.begins, asIndex(row), begin.value);
    foldListed(count, begin, [&](Index entry, Index next) {
      Value isOwn = isOf(entry);
      ifThen(e, isOwn, [&] { e.storeRaw(lists.sorted, asIndex(next), (entry / kRows).value); });
      return choose(isOwn, next + 1, next);
    });
  });
  barrier(e);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Loads many terms at a time, because a frequent id has hundreds and a load takes hundreds of
/// cycles, but adds them one after another.
Row TableSums::addListed(Index row, Index vector, ArrayRef<Num> carried) {
  Index begin = asIndex(loadWord(lists.begins, row)),
        end = begin + asIndex(loadWord(lists.counts, row));
  Row sum(carried);
  for (int64_t together : {16, 4, 1}) {
    Index whole = begin + (end - begin) / together * together;
    sum = foldSteps(e, begin, whole, together, sum, [&](Index i, ArrayRef<Num> before) -> Row {
      Row terms;
      for (int64_t k = 0; k < together; ++k)
        terms.push_back(e.load(this->terms,
                               asIndex(loadWord(lists.sorted, i + k)) * division.width +
                                   vector * division.lanes,
                               division.lanes));
      Num next = before[0];
      for (Num term : terms)
        next = next + term;
      return {next};
    });
    // If no id occurs twice, most rows are accessed only once, and the first loops do not run.
    expectIterations(sum[0].value.getDefiningOp(),
                     together > 1 ? 0 : static_cast<double>(ids.size) / division.rows);
    begin = whole;
  }
  return sum;
}

/// Each thread group takes one of the rows from the block's row `first` on.
void TableSums::emitRow(Index first) {
  Index row = first + asIndex(*thread / division.groupThreads),
        lane = asIndex(*thread % division.groupThreads);
  Index number = asIndex(*block) + row * division.blocks,
        readable = minimum(number, e.index(division.rows - 1));
  auto sumVector = [&](Index begin) {
    // A thread without columns repeats the last one.
    Index own = begin + lane, vector = minimum(own, e.index(division.vectors - 1));
    Index place = readable * division.width + vector * division.lanes;
    Value isOwn = both(less(own, e.index(division.vectors)), less(number, e.index(division.rows)));
    Row start = {e.splat(0.0, division.lanes)};
    if (into)
      start =
          chooseIf(e, isOwn, start, [&]() -> Row { return {e.load(into, place, division.lanes)}; });
    Row sum = fold(e, e.index(0), numLists, start, [&](Index number, ArrayRef<Num> carried) {
      ifThen(e, isCrowded, [&] {
        expectIterations(e.builder().getInsertionBlock()->getParentOp(), 0);
        Index fromRow = asWord(first);
        list(fromRow, fromRow + division.groups, asWord(number));
      });
      return addListed(row, vector, carried);
    });
    ifThen(e, isOwn, [&] { e.store(table, place, sum[0]); });
  };
  auto sumColumns = [&] {
    forSteps(e, e.index(0), e.index(division.vectors), division.groupThreads, sumVector);
  };
  if (!into)
    return sumColumns();
  // If lists are rebuilt, all threads of the block must take part in the barriers.
  Value isTouched = less(word(0), loadWord(lists.counts, row));
  ifThen(e, either(lieApart(e, into, table), either(isCrowded, isTouched)), sumColumns);
}

void TableSums::emit() {
  DeviceLoops &device = deviceLoops(e);
  device.launch(e, division.blocks, division.threads(), [&](Index blockNumber, Index threadNumber) {
    block = asWord(blockNumber);
    thread = asWord(threadNumber);
    Type i32 = e.builder().getI32Type();
    lists.listed = device.workgroup(e, division.capacity, i32);
    lists.sorted = device.workgroup(e, division.capacity, i32);
    lists.begins = device.workgroup(e, kRows, i32);
    lists.counts = device.workgroup(e, kRows, i32);
    lists.ofWarps = device.workgroup(e, division.threads() / kWarp, i32);
    numLists = ceilDiv(asIndex(list(word(0), word(kRows), word(0))), e.index(division.capacity));
    isCrowded = less(e.index(1), numLists);
    forSteps(e, e.index(0), e.index(kRows), division.groups, [&](Index first) { emitRow(first); });
  });
}

void llmmem::emitTableSums(KernelEmitter &e, Buffer ids, Buffer terms, Buffer into, Buffer table,
                           int64_t width, VocabularyPart &vocabulary) {
  TableSums(e, ids, terms, into, table, width, vocabulary).emit();
}
