//===- Pack.cpp - Offsets for buffers: a portfolio of skylines ----------------------===//

#include "Ejection.h"
#include "PackCore.h"
#include "PackSearch.h"
#include "PackShapes.h"
#include "Tuning/Constants.h"
#include "llmmem/Support/Random.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace llmmem::planning {
namespace {

/// The weights of a rank. A rank is a weighted sum of the logarithms of size, length and pressure,
/// so (1, 1, 0) ranks by area. The pressure is the largest sum of live bytes while a shape is live.
struct Weights {
  double size;
  double length;
  double pressure;
};

// Largest first for skylines is folklore of strip packing; which measure of "large" wins differs by
// program, and XLA too takes the best of size and live range. A schedule that recomputes is full at
// only a few steps: the shapes that are live at one of these come first, and the rest fits next to
// them.
constexpr Weights portfolio[] = {{1, 1, 20}, {0, 1, 20},  {1, 1, 0},   {0, 1, 0},
                                 {1, 0, 0},  {0.5, 1, 0}, {1, 0.5, 0}, {-0.2, 1, 0}};
constexpr size_t numByPressure = 2; // the first ones

/// Returns the largest value of any range, by a table of the ranges whose lengths are powers of
/// two.
class RangeMaximum {
public:
  explicit RangeMaximum(std::vector<int64_t> values) : ofPower{std::move(values)} {
    for (size_t half = 1; 2 * half <= ofPower[0].size(); half *= 2) {
      const std::vector<int64_t> &last = ofPower.back();
      std::vector<int64_t> next(last.size() - half);
      for (size_t at = 0; at < next.size(); ++at)
        next[at] = std::max(last[at], last[at + half]);
      ofPower.push_back(std::move(next));
    }
  }
  int64_t of(int32_t from, int32_t to) const {
    const auto power = static_cast<int32_t>(llvm::Log2_32(to - from));
    return std::max(ofPower[power][from], ofPower[power][to - (1 << power)]);
  }

private:
  std::vector<std::vector<int64_t>> ofPower;
};

class Packer {
public:
  Packer(const Shapes &shapes, const PackOptions &options, bool isCore = false)
      : shapes(shapes), options(options), isCore(isCore), skyline(shapes) {
    for (const Shape &shape : shapes.shapes) {
      logSize.push_back(std::log2(static_cast<double>(shape.size)));
      logLength.push_back(std::log2(static_cast<double>(shape.upper - shape.lower)));
    }
    const std::vector<int64_t> live = liveBytes(shapes);
    const RangeMaximum pressure(live);
    for (const Shape &shape : shapes.shapes)
      logPressure.push_back(std::log2(static_cast<double>(pressure.of(shape.lower, shape.upper))));
    best.lowerBound = pressure.of(0, shapes.positions);
    best.arena = std::numeric_limits<int64_t>::max();
    target = std::max(best.lowerBound, options.capacity.value_or(0));
    if (isLargeCore())
      best.arena = target + 1; // a skyline of this height is of no use
  }

  Packing run() {
    const llvm::ArrayRef<Weights> all(portfolio);
    if (tryPortfolio(all.take_front(numByPressure)) || options.isFirstTry)
      return std::move(best);
    work = options.work;
    const bool hasCore = !isCore && work > 0 && isSearchable() && !tuning::isOff("core first");
    const CoreOutcome core = hasCore ? tryCores() : CoreOutcome::TooLarge;
    if (core == CoreOutcome::Packed)
      return std::move(best);
    isHopeless = core == CoreOutcome::Unpacked && options.afterCore == AfterCore::End && isLarge();
    if (isHopeless || tryPortfolio(all.drop_front(numByPressure)))
      return std::move(best);
    if (!isSearchable())
      restart(work);
    else if (core == CoreOutcome::TooLarge || !options.capacity || isWorthASearch())
      searchFromSkylines();
    else
      isHopeless = true;
    return std::move(best);
  }

  /// Says whether what is left of the work would most likely find nothing.
  bool isHopeless = false;

private:
  bool tryPortfolio(llvm::ArrayRef<Weights> some) {
    return llvm::any_of(some,
                        [&](const Weights &weights) { return tryWeights(weights, nullptr, 0); });
  }

  /// Says whether a search is worth its work after a core that was not packed.
  bool isWorthASearch() const {
    const bool isNear = best.arena - target <= target >> tuning::searchNearShift;
    return options.afterCore == AfterCore::Search ||
           (options.afterCore == AfterCore::SearchNear && isNear);
  }

  bool isLargeCore() const { return isCore && shapes.shapes.size() > tuning::largeCoreShapes; }

  void searchFromSkylines() {
    // A few skylines decide whether the exact search is needed.
    if (!isLargeCore() && !tuning::isOff("promotion"))
      promoteHighest(std::min<int64_t>(tuning::mostPromotions,
                                       work / 4 / static_cast<int64_t>(shapes.shapes.size())));
    if (!tuning::isOff("packing search"))
      search();
  }

  /// Restarts skylines from noisy ranks around random weights.
  void restart(int64_t quota) {
    Random random(kSearchSeed);
    const auto count = static_cast<int64_t>(shapes.shapes.size());
    const int64_t workOfRestart = count * std::max<int64_t>(1, count / tuning::shapesOfSlowSkyline);
    for (; quota > 0 && !options.isCancelled() && isWorthARestart();
         quota -= workOfRestart, work -= workOfRestart) {
      const Weights weights = {random.unit() * 1.5 - 0.25, random.unit() * 1.5 - 0.25, 0};
      tryWeights(weights, &random, random.unit() * 2);
    }
  }

  /// Applies squeaky wheel optimization (Joslin and Clements 1999): a shape that ends above the
  /// target is placed earlier in the next skyline.
  void promoteHighest(int64_t rounds) {
    const auto count = static_cast<double>(shapes.shapes.size());
    std::vector<double> score = scoresOf(portfolio[0]);
    const std::vector<int32_t> first = ranksBy(score);
    score.assign(first.begin(), first.end());
    std::vector<int64_t> offsets = firstOffsets;
    for (; rounds > 0 && !options.isCancelled(); --rounds) {
      for (size_t shape = 0; shape < score.size(); ++shape)
        if (offsets[shape] + shapes.shapes[shape].size > target)
          score[shape] += tuning::promotionOfRank * count;
      if (trySkyline(ranksBy(score), std::numeric_limits<int64_t>::max(), offsets))
        return;
    }
  }

  /// A skyline wastes about one buffer, whatever their number. Where a restart takes a third of a
  /// second, a ten-thousandth of the arena does not justify one, unless a capacity requires it.
  bool isWorthARestart() const {
    const bool isGain = options.capacity || shapes.shapes.size() < tuning::veryManyShapes ||
                        best.arena - best.lowerBound > best.lowerBound / tuning::littleArenaPart;
    return best.arena > target && isGain;
  }

  CoreOutcome tryCores() {
    std::vector<int64_t> offsets;
    const CoreOutcome outcome = packCoreFirst(shapes, options, target, offsets);
    if (outcome == CoreOutcome::Packed) {
      best.offsets = std::move(offsets);
      best.arena = arenaOf(shapes, best.offsets);
    }
    return outcome;
  }

  /// Says whether there are many shapes. Otherwise all skylines take little time.
  bool isLarge() const { return shapes.shapes.size() > tuning::manyShapes; }

  /// Says whether the search may run: it adds offsets without an overflow check.
  bool isSearchable() const {
    return shapes.shapes.size() <= tuning::mostShapesSearched &&
           best.arena < std::numeric_limits<int64_t>::max() / 4;
  }

  /// Searches at the target with most of the work, then bisects between it and the best packing.
  void search() {
    PackSearch exact(shapes, options.cancellation);
    int64_t least = target;
    for (int64_t within = target; work > 0 && best.arena > target && !options.isCancelled();
         within = least + (best.arena - least) / 2) {
      int64_t quota = within == target && !options.capacity ? work / 2 : work;
      if (within != target)
        quota = work / 4 + 1;
      if (!PackSearch::mayFind(shapes, quota))
        return;
      work -= quota;
      std::vector<int64_t> offsets;
      const PackSearch::Outcome outcome = exact.restart(within, quota, offsets);
      work += std::max<int64_t>(quota, 0);
      if (outcome == PackSearch::Outcome::Found) {
        best.offsets = std::move(offsets);
        best.arena = arenaOf(shapes, best.offsets);
      } else {
        least = within + 1;
      }
      if (least >= best.arena || options.capacity)
        return;
    }
  }

  std::vector<double> scoresOf(Weights weights) const {
    std::vector<double> score(shapes.shapes.size());
    for (size_t i = 0; i < score.size(); ++i)
      score[i] = weights.size * logSize[i] + weights.length * logLength[i] +
                 weights.pressure * logPressure[i];
    return score;
  }

  static std::vector<int32_t> ranksBy(const std::vector<double> &score) {
    std::vector<int32_t> byScore(score.size()), rank(score.size());
    std::iota(byScore.begin(), byScore.end(), 0);
    std::stable_sort(byScore.begin(), byScore.end(),
                     [&](int32_t a, int32_t b) { return score[a] < score[b]; });
    for (size_t i = 0; i < score.size(); ++i)
      rank[byScore[i]] = static_cast<int32_t>(i);
    return rank;
  }

  /// Returns true where the target is met.
  bool tryWeights(Weights weights, Random *random, double noise) {
    std::vector<double> score = scoresOf(weights);
    if (random)
      for (double &each : score)
        each += noise * random->unit();
    std::vector<int64_t> offsets;
    return trySkyline(ranksBy(score), best.arena, offsets);
  }

  /// Returns true where the target is met. `offsets` are of use below `limit`.
  bool trySkyline(const std::vector<int32_t> &rank, int64_t limit, std::vector<int64_t> &offsets) {
    const int64_t arena = skyline.run(rank, limit, offsets);
    if (firstOffsets.empty())
      firstOffsets = offsets;
    if (arena < best.arena || best.offsets.empty()) {
      best.arena = arena;
      best.offsets = offsets;
    }
    return best.arena <= target;
  }

  const Shapes &shapes;
  const PackOptions &options;
  const bool isCore; // the shapes are a core of a larger packing, of use within the capacity alone
  Skyline skyline;
  std::vector<double> logSize, logLength, logPressure;
  std::vector<int64_t> firstOffsets; // offsets of the first skyline
  Packing best;
  int64_t target;
  int64_t work = 0;
};

int64_t roundUp(int64_t size, int64_t alignment) {
  const int64_t remainder = size % alignment;
  if (remainder == 0)
    return size;
  int64_t rounded = 0;
  return llvm::AddOverflow(size, alignment - remainder, rounded)
             ? std::numeric_limits<int64_t>::max()
             : rounded;
}

} // namespace

int64_t arenaOf(const Shapes &shapes, llvm::ArrayRef<int64_t> offsets) {
  int64_t arena = 0;
  for (size_t shape = 0; shape < offsets.size(); ++shape)
    arena = std::max(arena, offsets[shape] + shapes.shapes[shape].size);
  return arena;
}

int64_t packWork(double seconds) {
  return tuning::workFor(seconds, tuning::packUnitsPerSecondAlone);
}

Packing packCore(const Shapes &core, const PackOptions &options) {
  return core.shapes.empty() ? Packing() : Packer(core, options, /*isCore=*/true).run();
}

Packing packShapes(const Shapes &shapes, const PackOptions &options) {
  if (shapes.shapes.empty())
    return {};
  Packer packer(shapes, options);
  Packing packed = packer.run();
  if (options.capacity && !packer.isHopeless && packed.arena > *options.capacity &&
      packed.lowerBound <= *options.capacity && !tuning::isOff("ejection chains"))
    if (int64_t work = options.ejections; fitByEjection(shapes, options, work, packed.offsets))
      packed.arena = arenaOf(shapes, packed.offsets);
  return packed;
}

Packing pack(const std::vector<Buffer> &buffers, const PackOptions &options) {
  std::vector<int64_t> times;
  for (const Buffer &buffer : buffers)
    for (int64_t time : {buffer.lower, buffer.upper})
      times.push_back(time);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto dense = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };

  Shapes shapes;
  shapes.positions = static_cast<int32_t>(times.size());
  std::vector<size_t> bufferOf;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer &buffer = buffers[i];
    if (buffer.size <= 0 || buffer.lower >= buffer.upper)
      continue; // has no bytes or no live range; any offset will do
    shapes.add(
        Piece{dense(buffer.lower), dense(buffer.upper), roundUp(buffer.size, options.alignment)});
    bufferOf.push_back(i);
  }
  Packing packed = packShapes(shapes, options);
  Packing packing;
  packing.offsets.assign(buffers.size(), 0);
  packing.lowerBound = packed.lowerBound;
  for (size_t shape = 0; shape < bufferOf.size(); ++shape) {
    const size_t buffer = bufferOf[shape];
    packing.offsets[buffer] = packed.offsets[shape];
    packing.arena = std::max(packing.arena, packed.offsets[shape] + buffers[buffer].size);
  }
  return packing;
}

} // namespace llmmem::planning
