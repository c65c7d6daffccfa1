//===- ExpertKernels.cpp - Kernels of mixtures of experts ------------------===//
//
// Tokens go to their experts and back by tables of numbers: one iteration writes each row of a
// result and reads what belongs to it, so that nothing depends on the order of threads. Numbers
// that are read are clamped into their table before they address anything.
//
//===----------------------------------------------------------------------===//

#include "KernelModels.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}
int64_t widthOf(Value tensor) { return shapeOf(tensor).back(); }

/// Carries an index through a loop in its own type.
Num carry(Index index) { return {index.builder, index.value}; }
Index indexOf(Num carried) { return {carried.builder, carried.value}; }

Num logistic(Num x) { return 1.0 / (exp(-x) + 1.0); }

void storeInteger(KernelEmitter &e, Buffer buffer, Index place, Index number) {
  OpBuilder &b = e.builder();
  e.storeRaw(buffer, place,
             arith::IndexCastOp::create(b, e.location(), b.getI32Type(), number.value));
}

Index clamp(KernelEmitter &e, Index number, int64_t count) {
  return minimum(maximum(number, e.index(0)), e.index(count - 1));
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Holds the logits of a token, and what is computed from them.
struct TokenScores {
  KernelEmitter &e;
  Buffer logits, bias;
  Index begin;
  int64_t experts;
  bool isLogistic;
  std::optional<Num> lse = std::nullopt;

  Num logit(Index expert) { return e.load(logits, begin + expert); }
  Num score(Index expert) {
    return isLogistic ? logistic(logit(expert)) : exp(logit(expert) - *lse);
  }
  /// Returns the number that the choice uses. The softmax keeps the order of the logits.
  Num key(Index expert) { return bias ? score(expert) + e.load(bias, expert) : logit(expert); }

  Num logSumExp() {
    Num lowest = e.number(-std::numeric_limits<double>::infinity());
    Num largest = fold(e, e.index(0), e.index(experts), lowest,
                       [&](Index expert, ArrayRef<Num> found) -> Row {
                         return {maximum(found[0], logit(expert))};
                       })[0];
    Num powers = fold(e, e.index(0), e.index(experts), e.number(0.0),
                      [&](Index expert, ArrayRef<Num> sum) -> Row {
                        return {sum[0] + exp(logit(expert) - largest)};
                      })[0];
    return largest + log(powers);
  }
};

/// Holds the number of an expert or a group, and the key that it was chosen by.
struct Choice {
  Num key;
  Index number;
};

struct RouteKernel : KernelModel<RouteKernel, RouteOp> {
  static void emit(RouteOp op, KernelEmitter &e) {
    int64_t experts = widthOf(op.getLogits()), chosen = widthOf(op.getExperts());
    Buffer bias = e.operand(op.getBiasMutable());
    forRows(e, e.result(2).size, {.width = 1}, [&](Index token) {
      TokenScores scores{e, e.operand(0), bias, token * experts, experts, op.getLogistic()};
      scores.lse = scores.logSumExp();
      e.store(e.result(2), token, *scores.lse);
      SmallVector<Num> weights;
      SmallVector<Index> groups = chooseGroups(op, scores);
      auto key = [&](Index expert) { return keyInGroups(op, scores, groups, expert); };
      std::optional<Choice> last;
      for (int64_t number = 0; number < chosen; ++number) {
        last = chooseNext(e, experts, key, last);
        storeInteger(e, e.result(1), token * chosen + number, last->number);
        weights.push_back(scores.score(last->number));
      }
      storeWeights(op, e, token * chosen, weights);
    });
  }

  /// Returns the best of `count` that comes after `last`: with a smaller key, or an equal one and a
  /// higher number. So no memory says which have been chosen.
  static Choice chooseNext(KernelEmitter &e, int64_t count, function_ref<Num(Index)> keyOf,
                           std::optional<Choice> last) {
    OpBuilder &b = e.builder();
    auto compare = [&](arith::CmpFPredicate predicate, Num x, Num y) -> Value {
      return arith::CmpFOp::create(b, e.location(), predicate, x.value, y.value);
    };
    Row none{e.number(-std::numeric_limits<double>::infinity()), carry(e.index(0))};
    Row best =
        fold(e, e.index(0), e.index(count), none, [&](Index number, ArrayRef<Num> found) -> Row {
          Num key = keyOf(number);
          Value isBetter = compare(arith::CmpFPredicate::OGT, key, found[0]);
          if (last) {
            Value isTied = compare(arith::CmpFPredicate::OEQ, key, last->key);
            Value isLater =
                arith::AndIOp::create(b, e.location(), isTied, less(last->number, number));
            Value isNext = arith::OrIOp::create(
                b, e.location(), compare(arith::CmpFPredicate::OLT, key, last->key), isLater);
            isBetter = arith::AndIOp::create(b, e.location(), isBetter, isNext);
          }
          return {select(isBetter, key, found[0]), select(isBetter, carry(number), found[1])};
        });
    return {best[0], indexOf(best[1])};
  }

  /// Returns the groups whose experts may be chosen; none where all may.
  static SmallVector<Index> chooseGroups(RouteOp op, TokenScores &scores) {
    KernelEmitter &e = scores.e;
    SmallVector<Index> chosen;
    if (op.getKeptGroups() == op.getGroups())
      return chosen;
    int64_t size = scores.experts / static_cast<int64_t>(op.getGroups());
    auto best = [&](Index group) {
      auto key = [&](Index member) { return scores.key(group * size + member); };
      Choice next = chooseNext(e, size, key, std::nullopt);
      Num sum = next.key;
      for (uint64_t number = 1; number < op.getGroupBest(); ++number) {
        next = chooseNext(e, size, key, next);
        sum = sum + next.key;
      }
      return sum;
    };
    std::optional<Choice> last;
    for (uint64_t number = 0; number < op.getKeptGroups(); ++number) {
      last = chooseNext(e, op.getGroups(), best, last);
      chosen.push_back(last->number);
    }
    return chosen;
  }

  /// Returns a key below all others where the expert is in none of the groups.
  static Num keyInGroups(RouteOp op, TokenScores &scores, ArrayRef<Index> groups, Index expert) {
    KernelEmitter &e = scores.e;
    Num key = scores.key(expert);
    if (groups.empty())
      return key;
    Index own = expert / (scores.experts / static_cast<int64_t>(op.getGroups()));
    Num kept = e.number(-std::numeric_limits<double>::infinity());
    for (Index group : groups)
      kept = select(equal(own, group), key, kept);
    return kept;
  }

  static void storeWeights(RouteOp op, KernelEmitter &e, Index begin, ArrayRef<Num> scores) {
    Num sum = scores[0];
    for (Num score : scores.drop_front())
      sum = sum + score;
    double factor = op.getFactor().convertToDouble();
    for (auto [number, score] : llvm::enumerate(scores)) {
      Num weight = op.getNormalized() ? score / sum : score;
      e.store(e.result(0), begin + static_cast<int64_t>(number),
              factor == 1.0 ? weight : weight * factor);
    }
  }
};

struct RouteGradKernel : KernelModel<RouteGradKernel, RouteGradOp> {
  static void emit(RouteGradOp op, KernelEmitter &e) {
    int64_t experts = widthOf(op.getLogits()), chosen = widthOf(op.getExperts());
    forRows(e, e.operand(2).size, {.width = 1}, [&](Index token) {
      TokenScores scores{e, e.operand(0), Buffer(), token * experts, experts, op.getLogistic()};
      scores.lse = e.load(e.operand(2), token);
      SmallVector<Index> numbers;
      SmallVector<Num> values, gradients;
      for (int64_t j = 0; j < chosen; ++j) {
        numbers.push_back(clamp(e, e.loadIndex(e.operand(1), token * chosen + j), experts));
        values.push_back(scores.score(numbers.back()));
        gradients.push_back(e.load(e.operand(3), token * chosen + j));
      }
      gradients = ofScores(op, values, gradients);
      // In a softmax, what raises one score lowers all others.
      Num common = dot(values, gradients);
      forEach(e, experts, [&](Index expert) {
        Num own = e.number(0.0), score = scores.score(expert);
        for (auto [number, gradient] : llvm::zip_equal(numbers, gradients))
          own = own + select(equal(number, expert), gradient, e.number(0.0));
        Num slope = op.getLogistic() ? score * (1.0 - score) * own : score * (own - common);
        e.store(e.result(0), token * experts + expert, slope);
      });
    });
  }

  static Num dot(ArrayRef<Num> a, ArrayRef<Num> b) {
    Num sum = a[0] * b[0];
    for (size_t number = 1; number < a.size(); ++number)
      sum = sum + a[number] * b[number];
    return sum;
  }

  /// Computes the gradients of the chosen scores from those of their weights.
  static SmallVector<Num> ofScores(RouteGradOp op, ArrayRef<Num> scores, ArrayRef<Num> weights) {
    double factor = op.getFactor().convertToDouble();
    SmallVector<Num> gradients;
    if (!op.getNormalized()) {
      for (Num weight : weights)
        gradients.push_back(weight * factor);
      return gradients;
    }
    Num sum = scores[0];
    for (Num score : scores.drop_front())
      sum = sum + score;
    Num mean = dot(weights, scores) / sum;
    for (Num weight : weights)
      gradients.push_back((weight - mean) / sum * factor);
    return gradients;
  }
};

struct AssignPlacesKernel : KernelModel<AssignPlacesKernel, AssignPlacesOp> {
  /// An iteration for each expert and sequence goes through the choices of the sequence.
  static void emit(AssignPlacesOp op, KernelEmitter &e) {
    ArrayRef<int64_t> choices = shapeOf(op.getChoices());
    int64_t experts = choices[0], batch = choices[1], capacity = choices[2];
    int64_t ofSequence = e.operand(0).size / batch;
    forRows(e, experts * batch, {.width = 1}, [&](Index number) {
      Index expert = number / batch, begin = number % batch * ofSequence;
      auto visit = [&](Index choice, ArrayRef<Num> taken) -> Row {
        Index next = indexOf(taken[0]);
        Value isHere = equal(clamp(e, e.loadIndex(e.operand(0), begin + choice), experts), expert);
        ifThen(e, isHere, [&] {
          Value hasPlace = less(next, e.index(capacity));
          Num place = select(hasPlace, carry(expert * capacity + next), carry(e.index(-1)));
          storeInteger(e, e.result(0), begin + choice, indexOf(place));
          ifThen(e, hasPlace,
                 [&] { storeInteger(e, e.result(1), number * capacity + next, choice); });
        });
        return {select(isHere, carry(next + 1), taken[0])};
      };
      Row taken = fold(e, e.index(0), e.index(ofSequence), carry(e.index(0)), visit);
      forEach(e, minimum(indexOf(taken[0]), e.index(capacity)), e.index(capacity),
              [&](Index place) {
                storeInteger(e, e.result(1), number * capacity + place, e.index(-1));
              });
    });
  }
};

struct CountDroppedKernel : KernelModel<CountDroppedKernel, CountDroppedOp> {
  static Row count(KernelEmitter &e, Buffer places, Index first, int64_t step, ArrayRef<Num> sum) {
    return foldSteps(e, first, e.index(places.size), step, sum,
                     [&](Index i, ArrayRef<Num> before) -> Row {
                       Value isDropped = less(e.loadIndex(places, i), e.index(0));
                       Index counted = indexOf(before[0]);
                       return {select(isDropped, carry(counted + 1), before[0])};
                     });
  }
  static void emit(CountDroppedOp op, KernelEmitter &e) {
    Row sum{carry(e.index(0))};
    for (unsigned number = 0; number < op.getNumOperands(); ++number)
      sum = count(e, e.operand(number), e.index(0), 1, sum);
    storeInteger(e, e.result(0), e.index(0), indexOf(sum[0]));
  }
  static void emitOnDevice(CountDroppedOp op, KernelEmitter &e) {
    DeviceLoops &device = deviceLoops(e);
    device.once(e, [&] {
      Row sum{carry(e.index(0))};
      for (unsigned number = 0; number < op.getNumOperands(); ++number)
        sum = count(e, e.operand(number), device.thread(), device.threadGroupSize(), sum);
      OpBuilder &b = e.builder();
      Num own{&b, arith::IndexCastOp::create(b, e.location(), b.getI32Type(), sum[0].value)};
      Num all = device.acrossThreadGroup(e, own, [](Num x, Num y) -> Num {
        return {x.builder,
                arith::AddIOp::create(*x.builder, x.value.getLoc(), x.value, y.value).getResult()};
      });
      e.storeRaw(e.result(0), e.index(0), all.value);
    });
  }
};

//===----------------------------------------------------------------------===//
// To the experts and back
//===----------------------------------------------------------------------===//

/// Says where rows of experts and of tokens lie, according to the tables.
struct ExpertLayout {
  KernelEmitter &e;
  int64_t experts, batch, capacity, seq, chosen;

  ExpertLayout(KernelEmitter &e, Value rows, Value places)
      : e(e), experts(shapeOf(rows)[0]), batch(shapeOf(rows)[1]), capacity(shapeOf(rows)[2]),
        seq(shapeOf(places)[1]), chosen(widthOf(places)) {}

  struct Source {
    Value exists;
    Index row;
  };

  /// Returns the row of an expert that choice `j` of token `token` (of the whole batch) has.
  Source rowOf(Buffer places, Index token, int64_t j) const {
    Index place = e.loadIndex(places, token * chosen + j);
    Index known = clamp(e, place, experts * capacity);
    Index row = (known / capacity * batch + token / seq) * capacity + known % capacity;
    return {less(e.index(-1), place), row};
  }
  /// Returns the choice, of the whole batch, that is in a row of an expert.
  Source choiceOf(Buffer choices, Index row) const {
    Index choice = e.loadIndex(choices, row);
    Index sequence = row / capacity % batch;
    return {less(e.index(-1), choice), sequence * (seq * chosen) + clamp(e, choice, seq * chosen)};
  }
};

struct DispatchKernel : KernelModel<DispatchKernel, DispatchOp> {
  /// Nothing is read for an empty place, and in a step of decoding most are empty.
  static void emit(DispatchOp op, KernelEmitter &e) {
    ExpertLayout layout(e, op.getY(), op.getPlaces());
    int64_t width = widthOf(op.getY()), rows = e.operand(2).size;
    Buffer weights = e.operand(op.getWeightsMutable());
    double share =
        std::min(1.0, static_cast<double>(e.operand(1).size) / static_cast<double>(rows));
    forRows(e, rows, {width}, [&](Index row) {
      ExpertLayout::Source choice = layout.choiceOf(e.operand(2), row);
      ifExpected(e, choice.exists, share, [&] {
        Num weight = weights ? e.load(weights, choice.row) : e.number(1.0);
        forLanes(e, width, [&](Index i, unsigned lanes) {
          Num x = e.load(e.operand(0), choice.row / layout.chosen * width + i, lanes);
          e.store(e.result(0), row * width + i, weights ? x * weight : x);
        });
      });
      ifExpected(e, negated(e, choice.exists), 1.0 - share, [&] {
        forLanes(e, width, [&](Index i, unsigned lanes) {
          e.store(e.result(0), row * width + i, e.splat(0.0, lanes));
        });
      });
    });
  }

private:
  static Value negated(KernelEmitter &e, Value condition) {
    Value isTrue = arith::ConstantIntOp::create(e.builder(), e.location(), 1, 1);
    return arith::XOrIOp::create(e.builder(), e.location(), condition, isTrue);
  }

  /// `share` says for how many rows, for reports of a GPU's kernels.
  static void ifExpected(KernelEmitter &e, Value condition, double share,
                         function_ref<void()> then) {
    ifThen(e, condition, [&] {
      if (e.options().target == KernelTarget::Gpu)
        expectIterations(e.builder().getInsertionBlock()->getParentOp(), share);
      then();
    });
  }
};

struct CombineKernel : KernelModel<CombineKernel, CombineOp> {
  static void emit(CombineOp op, KernelEmitter &e) {
    ExpertLayout layout(e, op.getX(), op.getPlaces());
    int64_t width = widthOf(op.getY());
    Buffer weights = e.operand(op.getWeightsMutable());
    forRows(e, e.result(0).size / width, {width}, [&](Index token) {
      SmallVector<ExpertLayout::Source> sources;
      SmallVector<Num> factors;
      for (int64_t j = 0; j < layout.chosen; ++j) {
        sources.push_back(layout.rowOf(e.operand(1), token, j));
        if (weights)
          factors.push_back(e.load(weights, token * layout.chosen + j));
      }
      forLanes(e, width, [&](Index i, unsigned lanes) {
        Num sum = e.splat(0.0, lanes);
        for (auto [j, source] : llvm::enumerate(sources)) {
          Num x = e.load(e.operand(0), source.row * width + i, lanes);
          sum = sum + select(source.exists, weights ? x * factors[j] : x, e.splat(0.0, lanes));
        }
        e.store(e.result(0), token * width + i, sum);
      });
    });
  }
};

struct CombineWeightsGradKernel : KernelModel<CombineWeightsGradKernel, CombineWeightsGradOp> {
  static void emit(CombineWeightsGradOp op, KernelEmitter &e) {
    ExpertLayout layout(e, op.getX(), op.getPlaces());
    int64_t width = widthOf(op.getX());
    forRows(e, e.operand(2).size / width, {width}, [&](Index token) {
      for (int64_t j = 0; j < layout.chosen; ++j) {
        ExpertLayout::Source source = layout.rowOf(e.operand(1), token, j);
        Num sum = sumOver(e, width, [&](Index i, unsigned lanes) {
          return e.load(e.operand(0), source.row * width + i, lanes) *
                 e.load(e.operand(2), token * width + i, lanes);
        });
        e.store(e.result(0), token * layout.chosen + j, select(source.exists, sum, e.number(0.0)));
      }
    });
  }
};

struct AddGroupBiasKernel : KernelModel<AddGroupBiasKernel, AddGroupBiasOp> {
  static void emit(AddGroupBiasOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX()), rows = e.operand(0).size / width;
    int64_t ofGroup = rows / shapeOf(op.getX())[0];
    Buffer choices = e.operand(op.getChoicesMutable());
    forRows(e, rows, {width}, [&](Index row) {
      Index bias = row / ofGroup * width;
      Value isChosen = choices ? less(e.index(-1), e.loadIndex(choices, row)) : Value();
      forLanes(e, width, [&](Index i, unsigned lanes) {
        Index place = row * width + i;
        Num x = e.load(e.operand(0), place, lanes);
        Num sum = x + e.load(e.operand(1), bias + i, lanes);
        e.store(e.result(0), place, choices ? select(isChosen, sum, x) : sum);
      });
    });
  }
};

struct GateRowsKernel : KernelModel<GateRowsKernel, GateRowsOp> {
  static void emit(GateRowsOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX());
    forRows(e, e.operand(1).size, {width}, [&](Index row) {
      Num share = logistic(e.load(e.operand(1), row));
      forLanes(e, width, [&](Index i, unsigned lanes) {
        e.store(e.result(0), row * width + i, e.load(e.operand(0), row * width + i, lanes) * share);
      });
    });
  }
};

struct GateRowsGradKernel : KernelModel<GateRowsGradKernel, GateRowsGradOp> {
  static void emit(GateRowsGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX());
    forRows(e, e.operand(1).size, {width}, [&](Index row) {
      Num share = logistic(e.load(e.operand(1), row));
      Num sum = sumOver(e, width, [&](Index i, unsigned lanes) {
        return e.load(e.operand(0), row * width + i, lanes) *
               e.load(e.operand(2), row * width + i, lanes);
      });
      e.store(e.result(0), row, sum * share * (1.0 - share));
    });
  }
};

//===----------------------------------------------------------------------===//
// Balance
//===----------------------------------------------------------------------===//

struct RouterLoadKernel : KernelModel<RouterLoadKernel, RouterLoadOp> {
  static Num isChosen(KernelEmitter &e, Index choice, Index expert) {
    return select(equal(e.loadIndex(e.operand(1), choice), expert), e.number(1.0), e.number(0.0));
  }
  static Num probability(KernelEmitter &e, Index token, Index expert, int64_t experts) {
    return exp(e.load(e.operand(0), token * experts + expert) - e.load(e.operand(2), token));
  }

  static void emit(RouterLoadOp op, KernelEmitter &e) {
    int64_t experts = widthOf(op.getLogits());
    auto total = [&](int64_t count, function_ref<Num(Index)> term) {
      return fold(e, e.index(0), e.index(count), e.number(0.0),
                  [&](Index i, ArrayRef<Num> sum) -> Row { return {sum[0] + term(i)}; })[0];
    };
    forEachParallel(e, experts, [&](Index expert) {
      e.store(e.result(0), expert,
              total(e.operand(1).size, [&](Index choice) { return isChosen(e, choice, expert); }));
      e.store(e.result(1), expert, total(e.operand(2).size, [&](Index token) {
                return probability(e, token, expert, experts);
              }));
    });
  }

  static void emitOnDevice(RouterLoadOp op, KernelEmitter &e) {
    int64_t experts = widthOf(op.getLogits());
    DeviceLoops &device = deviceLoops(e);
    forEachParallel(e, experts, [&](Index expert) {
      Num count = device.sumOfElements(e, e.operand(1).size,
                                       [&](Index choice) { return isChosen(e, choice, expert); });
      e.store(e.result(0), expert, count);
      Num sum = device.sumOfElements(e, e.operand(2).size, [&](Index token) {
        return probability(e, token, expert, experts);
      });
      e.store(e.result(1), expert, sum);
    });
  }
};

struct RouterLoadGradKernel : KernelModel<RouterLoadGradKernel, RouterLoadGradOp> {
  static void emit(RouterLoadGradOp op, KernelEmitter &e) {
    int64_t experts = widthOf(op.getLogits());
    forRows(e, e.operand(1).size, {.width = 1}, [&](Index token) {
      TokenScores scores{e, e.operand(0), Buffer(), token * experts, experts, false};
      scores.lse = e.load(e.operand(1), token);
      Num common = fold(e, e.index(0), e.index(experts), e.number(0.0),
                        [&](Index expert, ArrayRef<Num> sum) -> Row {
                          return {sum[0] + scores.score(expert) * e.load(e.operand(2), expert)};
                        })[0];
      forEach(e, experts, [&](Index expert) {
        Num gradient = scores.score(expert) * (e.load(e.operand(2), expert) - common);
        e.store(e.result(0), token * experts + expert, gradient);
      });
    });
  }
};

/// Returns coefficient * E / tokens^2.
template <typename BalanceOp>
double balanceFactor(BalanceOp op) {
  double tokens = static_cast<double>(op.getTokens());
  return op.getCoefficient().convertToDouble() * static_cast<double>(widthOf(op.getCounts())) /
         tokens / tokens;
}

struct BalanceLossKernel : KernelModel<BalanceLossKernel, BalanceLossOp> {
  static void emit(BalanceLossOp op, KernelEmitter &e) {
    forRows(e, 1, {.width = 1}, [&](Index) {
      Num sum =
          fold(e, e.index(0), e.index(e.operand(0).size), e.number(0.0),
               [&](Index expert, ArrayRef<Num> before) -> Row {
                 return {before[0] + e.load(e.operand(0), expert) * e.load(e.operand(1), expert)};
               })[0];
      e.store(e.result(0), e.index(0), sum * balanceFactor(op));
    });
  }
};

struct BalanceLossGradKernel : KernelModel<BalanceLossGradKernel, BalanceLossGradOp> {
  static void emit(BalanceLossGradOp op, KernelEmitter &e) {
    forLanesParallel(e, e.result(0).size, [&](Index i, unsigned lanes) {
      Num dloss = e.load(e.operand(1), e.index(0)) * balanceFactor(op);
      e.store(e.result(0), i, e.load(e.operand(0), i, lanes) * dloss);
    });
  }
};

} // namespace

void llmmem::attachExpertKernels(MLIRContext *context) {
  attachKernels<RouteKernel, RouteGradKernel, AssignPlacesKernel, CountDroppedKernel,
                DispatchKernel, CombineKernel, CombineWeightsGradKernel, AddGroupBiasKernel,
                GateRowsKernel, GateRowsGradKernel, RouterLoadKernel, RouterLoadGradKernel,
                BalanceLossKernel, BalanceLossGradKernel>(context);
}
