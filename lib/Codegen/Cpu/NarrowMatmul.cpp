//===- NarrowMatmul.cpp - Matmuls of few rows by a matrix as it lies ------===//

#include "NarrowMatmul.h"
#include "PackedTerms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

namespace {

constexpr int64_t kMostRows = Sizes::kTileRows;
/// These are the distances from what a stream of B reads to what is prefetched; a packed B is read
/// more slowly.
constexpr int64_t kBytesAhead = 512, kPackedBytesAhead = 256;

/// Emits gemm_TYPE_narrow_LAYOUT_ROWS(a, pitch, b, pitch, initial, pitch, c, pitch, columns, inner,
/// scale): some columns of C. It has many fields because each is an argument of the function that
/// is emitted, or memory of it. Each layout of B has a class of its own.
class NarrowWriter {
public:
  static int64_t mostColumns(int64_t rows, int64_t part) {
    return std::max<int64_t>(part, llvm::alignDown(kMostSums / rows, part));
  }
  static constexpr int64_t kMostSums = 1024;

protected:
  NarrowWriter(Writer &w, int64_t rows, int64_t vectors, bool transposed, bool initial)
      : w(w), rows(rows), vectors(vectors), transposed(transposed), hasInitial(initial) {}

  int64_t pitchOfSums() { return mostColumns(rows, vectors * w.sizes.lanes); }
  int64_t bits() { return w.held ? w.held.bits() : w.element.getIntOrFloatBitWidth(); }
  Index either(Value condition, Index a, Index b) {
    return {&w.builder, arith::SelectOp::create(w.builder, w.loc(), condition, a.value, b.value)};
  }

  /// Prefetches `count` elements of B.
  void prefetch(FactorB from, int64_t count) {
    int64_t line = 512 / bits();
    for (int64_t first = 0; first < count; first += line)
      from.prefetch(w.constant(first));
  }

  using Step = function_ref<SmallVector<Num>(Index, ArrayRef<Num>)>;
  /// Emits a loop in steps of `step` that carries sums.
  SmallVector<Num> carry(Index upper, int64_t step, ArrayRef<Num> sums, Step body) {
    auto values = llvm::map_to_vector(sums, [](Num x) { return x.value; });
    auto loop = scf::ForOp::create(w.builder, w.loc(), w.constant(0).value, upper.value,
                                   w.constant(step).value, values);
    {
      OpBuilder::InsertionGuard guard(w.builder);
      w.builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Num> next =
          body({&w.builder, loop.getInductionVar()}, numbers(loop.getRegionIterArgs()));
      scf::YieldOp::create(w.builder, w.loc(),
                           llvm::map_to_vector(next, [](Num x) { return x.value; }));
    }
    return numbers(loop.getResults());
  }
  SmallVector<Num> numbers(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value x) { return Num{&w.builder, x}; });
  }

  /// Loads the factors a[row][k...] of a step of k, widened, where they are read one by one.
  void loadFactors(Index k, std::optional<Index> some) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t first = 0; first < depth; first += w.sizes.lanes) {
        Pointer from = a + (aPitch * row + k + first);
        Num x = some ? w.loadFirst(from, *some - first) : w.load(from, w.sizes.lanes);
        w.store(factors + w.constant(row * depth + first), x, true);
      }
  }
  Num factor(int64_t row, Index k) { return w.spread(w.load(factors + (k + row * depth), 1)); }

  SmallVector<Num> addTerm(Index k, ArrayRef<Num> row, ArrayRef<Num> carried) {
    auto count = static_cast<int64_t>(row.size());
    SmallVector<Num> next;
    for (int64_t i = 0; i < rows; ++i) {
      Num x = factor(i, k);
      for (int64_t v = 0; v < count; ++v)
        next.push_back(fma(x, row[v], carried[i * count + v]));
    }
    return next;
  }

  SmallVector<Num> addTerm(Index k, Num column, ArrayRef<Num> carried) {
    return addTerm(k, ArrayRef<Num>(column), carried);
  }

  bool isBF16() const { return !w.held && w.element.isBF16(); }

  Writer &w;
  int64_t rows, vectors;
  bool transposed, hasInitial;
  Pointer a = w.pointer(0, w.element), initial = w.pointer(4, w.element),
          c = w.pointer(6, w.element);
  FactorB b{w, 2};
  Index aPitch = w.index(1), bPitch = w.index(3), initialPitch = w.index(5), cPitch = w.index(7);
  Index columns = w.index(8), inner = w.index(9);
  Num scale{&w.builder, w.function.getArgument(10)};
  /// The layout of a packed B decides.
  std::optional<PackedRows> packedRows =
      w.held && !transposed ? std::optional<PackedRows>(std::in_place, w) : std::nullopt;
  std::optional<PackedColumns> packed =
      w.held && transposed ? std::optional<PackedColumns>(std::in_place, w, vectors) : std::nullopt;
  int64_t depth = packed                   ? packed->termsOfStep()
                  : transposed && isBF16() ? 2 * w.sizes.lanes
                                           : w.sizes.lanes;
  Pointer factors = w.panel(kMostRows * depth), line = w.panel(w.sizes.lanes);
  Pointer kept = w.panel(transposed ? 1 : rows * pitchOfSums()); // Sums [rows][columns].
};

//===----------------------------------------------------------------------===//
// B in rows
//===----------------------------------------------------------------------===//

class NarrowRows : NarrowWriter {
public:
  NarrowRows(Writer &w, int64_t rows, bool initial)
      : NarrowWriter(w, rows, vectorsOfRow(rows, w.held), /*transposed=*/false, initial) {}

  /// Returns as many vectors of accumulators as fit the registers. For one row they
  /// fit those of AVX2, too, with what is unpacked.
  static int64_t vectorsOfRow(int64_t rows, const PackedFormat &held) {
    return llvm::alignDown(rows == 1 ? 4 : std::min<int64_t>(8, 24 / rows),
                           PackedRows::vectorsTogether(held));
  }
  /// Returns the columns of a strip. Wide strips are read faster, because more of a
  /// row is contiguous, but each thread needs some. The sums of all rows stay in the first cache,
  /// in whole parts.
  static int64_t columnsOfStrip(const Matmul &p, int64_t lanes) {
    int64_t part = vectorsOfRow(p.rows, p.b.held.format) * lanes;
    int64_t wanted = std::max<int64_t>(llvm::divideCeil(p.columns, 8), 192);
    return std::min<int64_t>(llvm::alignTo(wanted, part), mostColumns(p.rows, part));
  }

  /// Reads some rows of B at a time, each from its beginning to its end, so that contiguous data is
  /// read together. The sums stay in the first cache meanwhile.
  void write() {
    forParts([&](Index j, int64_t count, std::optional<Index>) {
      keepSums(j, SmallVector<Num>(rows * count, w.zeros()));
    });
    Index rest = inner % depth, whole = inner - rest;
    w.forEach(w.constant(0), whole, depth, [&](Index k) {
      loadFactors(k, std::nullopt);
      addRowsToAll(k, w.constant(depth));
    });
    w.ifThen(less(w.constant(0), rest), [&] {
      loadFactors(whole, rest);
      addRowsToAll(whole, rest);
    });
    forParts([&](Index j, int64_t count, std::optional<Index> some) {
      store(j, count, some, keptSums(j, count));
    });
  }

private:
  using Part = function_ref<void(Index j, int64_t count, std::optional<Index> some)>;
  /// Visits all columns: `count` vectors of them from `j` on; of the last one only the first `some`
  /// where given.
  void forParts(Part part) {
    int64_t group = vectors * w.sizes.lanes, fewest = PackedRows::vectorsTogether(w.held);
    Index rest = columns % group, whole = columns - rest;
    w.forEach(w.constant(0), whole, group, [&](Index j) { part(j, vectors, std::nullopt); });
    // Visits the remaining columns, vector by vector.
    int64_t step = fewest * w.sizes.lanes;
    Index vectorsOfRest = whole + rest / step * step, last = columns - vectorsOfRest;
    w.forEach(whole, vectorsOfRest, step, [&](Index j) { part(j, fewest, std::nullopt); });
    if (!w.held) // Rows of groups are whole vectors.
      w.ifThen(less(w.constant(0), last), [&] { part(vectorsOfRest, 1, last); });
  }

  void addRowsToAll(Index k, Index terms) {
    forParts([&](Index j, int64_t count, std::optional<Index> some) {
      Index ahead = distanceAhead(j, k, count);
      keepSums(j, addRows(j, k, ahead, terms, count, some, keptSums(j, count)));
    });
  }

  Pointer sumsAt(int64_t row, Index j, int64_t vector) {
    return kept + (j + (row * pitchOfSums() + vector * w.sizes.lanes));
  }
  SmallVector<Num> keptSums(Index j, int64_t count) {
    SmallVector<Num> sums;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < count; ++v)
        sums.push_back(w.load(sumsAt(row, j, v), w.sizes.lanes, true));
    return sums;
  }
  void keepSums(Index j, ArrayRef<Num> sums) {
    auto count = static_cast<int64_t>(sums.size()) / rows;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < count; ++v)
        w.store(sumsAt(row, j, v), sums[row * count + v], true);
  }

  /// Returns the distance from what is read now to what is read a little later: the same rows
  /// further on, or the next rows, or those of the next columns. Rows lie a pitch apart, which
  /// processors do not predict.
  Index distanceAhead(Index j, Index k, int64_t count) {
    // It is some KiB of all rows; fewer bits take longer.
    int64_t further = (bits() < 32 ? 2 : 1) * count * w.sizes.lanes;
    Index next = bPitch * depth - columns, following = w.constant(0) - k * bPitch;
    return either(less(j + further, columns), w.constant(0),
                  either(less(k + depth, inner), next, following)) +
           further;
  }

  SmallVector<Num> addPackedRow(Index k, const FactorB &row, int64_t count, ArrayRef<Num> carried) {
    SmallVector<Num> factors, next(carried);
    for (int64_t i = 0; i < rows; ++i)
      factors.push_back(factor(i, k));
    packedRows->unpack(row, count, [&](int64_t v, Num x) {
      for (int64_t i = 0; i < rows; ++i)
        next[i * count + v] = fma(factors[i], x, next[i * count + v]);
    });
    return next;
  }

  /// Adds `terms` rows of B, from row `k` on.
  SmallVector<Num> addRows(Index j, Index k, Index ahead, Index terms, int64_t count,
                           std::optional<Index> some, ArrayRef<Num> sums) {
    return carry(terms, 1, sums, [&](Index t, ArrayRef<Num> carried) {
      FactorB line = b + ((k + t) * bPitch + j);
      prefetch(line + ahead, count * w.sizes.lanes);
      if (w.held)
        return addPackedRow(t, line, count, carried);
      SmallVector<Num> row;
      for (int64_t v = 0; v < count; ++v)
        row.push_back(some ? line.loadFirst(w.constant(0), *some)
                           : line.load(w.constant(v * w.sizes.lanes), w.sizes.lanes));
      return addTerm(t, row, carried);
    });
  }

  void store(Index j, int64_t count, std::optional<Index> some, ArrayRef<Num> sums) {
    for (int64_t i = 0; i < rows; ++i) {
      SmallVector<Num> ofRow(sums.slice(i * count, count));
      if (packedRows)
        ofRow = packedRows->inOrder(ofRow);
      for (int64_t v = 0; v < count; ++v) {
        Index column = j + v * w.sizes.lanes;
        Pointer from = initial + (initialPitch * i + column), to = c + (cPitch * i + column);
        Num sum = ofRow[v] * scale;
        if (hasInitial)
          sum = sum + (some ? w.loadFirst(from, *some) : w.load(from, w.sizes.lanes));
        some ? w.storeFirst(to, *some, sum) : w.store(to, sum);
      }
    }
  }
};

//===----------------------------------------------------------------------===//
// B transposed
//===----------------------------------------------------------------------===//

class NarrowStreams : NarrowWriter {
public:
  NarrowStreams(Writer &w, int64_t rows, bool initial)
      : NarrowWriter(w, rows, vectorsOfColumns(rows, w.held), /*transposed=*/true, initial) {}

  /// Returns the vectors of columns that are summed together. A packed B needs
  /// much computation between a sum and the next one, and sums of one vector would wait for each
  /// other.
  static int64_t vectorsOfColumns(int64_t rows, const PackedFormat &held) {
    return held && rows <= 4 ? 2 : 1;
  }

  /// Columns that are far from each other are multiplied together, then their neighbours, so memory
  /// is read in long streams, which processors predict. Prefetches are limited by the few lines
  /// that a core's first cache waits for. Of several vectors, neighbours are prefetched.
  void write() {
    int64_t lanes = w.sizes.lanes;
    Index apart = columns / (lanes * vectors) * vectors, rest = apart * lanes;
    SmallVector<Index> inStreams;
    for (int64_t v = 0; v < vectors; ++v)
      for (int64_t lane = 0; lane < lanes; ++lane)
        inStreams.push_back(apart * lane + v);
    w.forEach(w.constant(0), apart, vectors, [&](Index j) { writePart(j, inStreams, apart); });
    w.forEach(rest, columns, lanes, [&](Index j) {
      // Places beyond the last column repeat it.
      Index last = columns - j - 1;
      auto neighbours = llvm::map_to_vector(llvm::seq<int64_t>(0, lanes), [&](int64_t lane) {
        return minimum(w.constant(lane), last);
      });
      writePart(j, neighbours, w.constant(1));
    });
  }

private:
  /// Lists columns, as many as whole vectors have lanes, one vector after another: how many rows of
  /// memory each lies after the first.
  using Rows = ArrayRef<Index>;

  /// Each of a vector's columns is `apart` rows after the previous one.
  void writePart(Index j, Rows rowsOfB, Index apart) {
    storeColumns(j, rowsOfB, packed ? sumPacked(j, rowsOfB, apart) : sumStreams(j, rowsOfB));
  }

  int64_t vectorsOf(Rows rowsOfB) { return static_cast<int64_t>(rowsOfB.size()) / w.sizes.lanes; }

  /// Returns the distance from term `k` of a row to what is prefetched: beyond the end of the row
  /// this is the beginning of the row that is read next.
  Index aheadOf(Index k, int64_t neighbours) {
    Index ahead = w.constant((w.held ? kPackedBytesAhead : kBytesAhead) * 8 / bits());
    if (neighbours == 1)
      return ahead;
    return either(less(k + ahead, inner), ahead, ahead + bPitch * (neighbours - 1));
  }

  //===--------------------------------------------------------------------===//
  // B transposed, packed
  //===--------------------------------------------------------------------===//

  /// Groups lie along the sums and divide them.
  SmallVector<Num> sumPacked(Index j, Rows rowsOfB, Index apart) {
    SmallVector<Num> sums(rows * vectorsOf(rowsOfB), w.zeros());
    return carry(inner, w.held.group, sums, [&](Index begin, ArrayRef<Num> carried) {
      SmallVector<PackedColumns::Groups> groups;
      for (int64_t v = 0; v < vectorsOf(rowsOfB); ++v)
        groups.push_back(packed->groupsOf(placesOf(j, begin, v, rowsOfB)));
      return carry(w.constant(w.held.group), depth, carried, [&](Index k, ArrayRef<Num> ofGroup) {
        return addPacked(j, begin + k, rowsOfB, apart, groups, ofGroup);
      });
    });
  }

  PackedColumns::Places placesOf(Index j, Index k, int64_t vector, Rows rowsOfB) {
    return {b + (j * bPitch + k), rowsOfB.slice(vector * w.sizes.lanes, w.sizes.lanes), bPitch};
  }

  /// Adds the terms of a step, from words that are unpacked one after the other. Lines are
  /// prefetched meanwhile, because all at once they would wait for each other.
  SmallVector<Num> addPacked(Index j, Index k, Rows rowsOfB, Index apart,
                             ArrayRef<PackedColumns::Groups> groups, ArrayRef<Num> sums) {
    loadFactors(k, std::nullopt);
    int64_t count = vectorsOf(rowsOfB);
    for (int64_t v = 0; v < count; ++v)
      packed->read(v, placesOf(j, k, v, rowsOfB));
    Index ahead = k + aheadOf(k, count);
    int64_t terms = packed->termsOfWord(), share = w.sizes.lanes * terms / depth;
    return carry(w.constant(depth / terms), 1, sums, [&](Index word, ArrayRef<Num> carried) {
      for (int64_t lane = 0; lane < share; ++lane)
        for (int64_t v = 0; v < count; ++v)
          prefetch(b + ((j + (word * share + lane) * apart + v) * bPitch + ahead), depth);
      SmallVector<Num> next(carried);
      SmallVector<PackedColumns::Word> words;
      for (int64_t v = 0; v < count; ++v)
        words.push_back(packed->wordOf(v, word));
      for (int64_t term = 0; term < terms; ++term) {
        SmallVector<Num> row;
        for (int64_t v = 0; v < count; ++v)
          row.push_back(packed->termOf(words[v], term, groups[v]));
        next = addTerm(word * terms + term, row, next);
      }
      return next;
    });
  }

  //===--------------------------------------------------------------------===//
  // B transposed, not packed
  //===--------------------------------------------------------------------===//

  SmallVector<Num> sumStreams(Index j, Rows rowsOfB) {
    Index rest = inner % depth, whole = inner - rest;
    SmallVector<Num> sums(rows, w.zeros());
    sums = carry(whole, depth, sums, [&](Index k, ArrayRef<Num> carried) {
      loadFactors(k, std::nullopt);
      SmallVector<Num> next(carried);
      for (auto [term, column] : llvm::enumerate(square(j, k, rowsOfB)))
        next = addTerm(w.constant(static_cast<int64_t>(term)), column, next);
      return next;
    });
    return addRest(j, whole, rest, rowsOfB, sums);
  }

  /// Returns terms k to k + depth of columns, a line of each: a vector for each term.
  SmallVector<Num> square(Index j, Index k, Rows rowsOfB) {
    int64_t lanes = w.sizes.lanes;
    SmallVector<Num> vectors;
    // Pairs of neighbours of 16 bits move as one number.
    auto pairs = VectorType::get(lanes, w.builder.getI32Type());
    for (Index row : rowsOfB) {
      FactorB from = b + ((j + row) * bPitch + k);
      prefetch(from + aheadOf(k, 1), depth);
      vectors.push_back(isBF16() ? Num{&w.builder, LLVM::LoadOp::create(w.builder, w.loc(), pairs,
                                                                        from.pointer(), 2)}
                                 : from.load(w.constant(0), lanes));
    }
    transpose(w, vectors);
    return isBF16() ? widenPairs(vectors) : vectors;
  }

  /// A bf16 is the upper half of an f32; the first of a pair is its lower half.
  SmallVector<Num> widenPairs(ArrayRef<Num> pairs) {
    auto words = cast<VectorType>(pairs.front().type());
    auto wide = VectorType::get(words.getShape(), w.accumulatorType);
    auto constant = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(w.builder, w.loc(), DenseElementsAttr::get(words, value));
    };
    Value sixteen = constant(16), upper = constant(static_cast<int32_t>(0xFFFF0000));
    SmallVector<Num> numbers;
    auto add = [&](Value bits) {
      numbers.push_back({&w.builder, arith::BitcastOp::create(w.builder, w.loc(), wide, bits)});
    };
    for (Num pair : pairs) {
      add(arith::ShLIOp::create(w.builder, w.loc(), pair.value, sixteen));
      add(arith::AndIOp::create(w.builder, w.loc(), pair.value, upper));
    }
    return numbers;
  }

  /// Adds the last `rest` terms, fewer than a step has.
  SmallVector<Num> addRest(Index j, Index whole, Index rest, Rows rowsOfB, ArrayRef<Num> sums) {
    w.ifThen(less(w.constant(0), rest), [&] { loadFactors(whole, rest); });
    return carry(rest, 1, sums, [&](Index t, ArrayRef<Num> carried) {
      for (auto [lane, row] : llvm::enumerate(rowsOfB))
        w.store(line + w.constant(static_cast<int64_t>(lane)),
                b.load((j + row) * bPitch + (whole + t), 1));
      return addTerm(t, w.load(line, w.sizes.lanes, true), carried);
    });
  }

  void storeColumns(Index j, Rows rowsOfB, ArrayRef<Num> sums) {
    int64_t count = vectorsOf(rowsOfB), lanes = w.sizes.lanes;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t v = 0; v < count; ++v) {
        w.store(line, sums[i * count + v] * scale, true);
        for (int64_t lane = 0; lane < lanes; ++lane) {
          Index column = j + rowsOfB[v * lanes + lane];
          Num sum = w.load(line + w.constant(lane), 1);
          if (hasInitial)
            sum = sum + w.load(initial + (initialPitch * i + column), 1);
          w.store(c + (cPitch * i + column), sum);
        }
      }
  }
};

} // namespace

func::FuncOp Functions::narrow(int64_t rows, bool transposedB, bool initial) {
  SmallVector<Type> types;
  for (int matrix = 0; matrix < 4; ++matrix)
    types.append({pointer, index});
  types.append(2, index);
  types.push_back(accumulatorType);
  std::string name =
      ("narrow_" + Twine(transposedB ? "t" : "n") + Twine(rows) + (initial ? "_initial" : ""))
          .str();
  return defineWithB(name, types, [&](Writer &w) {
    transposedB ? NarrowStreams(w, rows, initial).write() : NarrowRows(w, rows, initial).write();
  });
}

bool llmmem::isNarrowMatmul(const Matmul &p) {
  return p.rows <= kMostRows && p.terms.count == 1 && !p.a.transposed;
}

int64_t llmmem::narrowStrip(KernelEmitter &e, const Matmul &p) {
  if (!p.b.transposed)
    return NarrowRows::columnsOfStrip(p, e.lanes());
  // There are streams of many rows, and strips for many threads. If they are an odd number of rows
  // apart, streams do not collide in one set of the first cache where a row is a multiple of some
  // lines.
  int64_t vectors = NarrowStreams::vectorsOfColumns(p.rows, p.b.held.format),
          ofStream = llvm::divideCeil(p.columns, 16 * e.lanes() * vectors);
  return (std::clamp<int64_t>(ofStream, 4 / vectors, 64 / vectors) | 1) * vectors * e.lanes();
}

void llmmem::emitNarrowStrip(Operation *op, KernelEmitter &e, const Matmul &p, Index column,
                             Index columns, const Matrix &target) {
  Functions functions(op->getParentOfType<ModuleOp>(), op->getLoc(), p.c.buffer.element,
                      p.b.held.format);
  func::FuncOp narrow =
      functions.narrow(p.rows, p.b.transposed, static_cast<bool>(p.initial().buffer));
  auto from = [&](const Matrix &matrix, std::optional<Index> offset) {
    Pointer base{&e.builder(), addressOf(op, e, matrix), matrix.buffer.element};
    return matrix.buffer && offset ? (base + *offset).address : base.address;
  };
  Index row = p.b.transposed ? column * p.b.pitch : column;
  bool isWhole = target.buffer.memref == p.c.buffer.memref;
  SmallVector<Value> arguments = {from(p.a, std::nullopt),
                                  e.index(p.a.pitch).value,
                                  addressOfB(op, e, p.b, row),
                                  e.index(p.b.pitch).value,
                                  from(p.initial(), column),
                                  e.index(p.initial().pitch).value,
                                  from(target, isWhole ? std::optional(column) : std::nullopt),
                                  e.index(target.pitch).value,
                                  columns.value,
                                  e.index(p.inner).value,
                                  e.number(p.scale).value};
  llvm::append_range(arguments, restOfB(op, e, p.b, row));
  func::CallOp::create(e.builder(), op->getLoc(), narrow, arguments);
}
