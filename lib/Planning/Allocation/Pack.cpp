//===- Pack.cpp - Offsets for buffers: a portfolio of skylines ----------------------===//

#include "Ejection.h"
#include "PackSearch.h"
#include "PackShapes.h"
#include "llmmem/Support/Random.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace llmmem::planning {
namespace {

/// A rank is a weighted sum of the logarithms of size and length, so (1, 1) is by area.
struct Weights {
  double size;
  double length;
};

// Largest first for skylines is folklore of strip packing; which measure of "large" wins differs by
// program, and XLA too takes the best of size and live range.
constexpr Weights portfolio[] = {{1, 1}, {0, 1}, {1, 0}, {0.5, 1}, {1, 0.5}, {-0.2, 1}};

int64_t arenaOf(const Shapes &shapes, const std::vector<int64_t> &offsets) {
  int64_t arena = 0;
  for (size_t shape = 0; shape < offsets.size(); ++shape)
    arena = std::max(arena, offsets[shape] + shapes.shapes[shape].size);
  return arena;
}

class Packer {
public:
  Packer(const Shapes &shapes, const PackOptions &options)
      : shapes(shapes), options(options), skyline(shapes) {
    for (const Shape &shape : shapes.shapes) {
      logSize.push_back(std::log2(static_cast<double>(shape.size)));
      logLength.push_back(std::log2(static_cast<double>(shape.upper - shape.lower)));
    }
    for (int64_t live : liveBytes(shapes))
      best.lowerBound = std::max(best.lowerBound, live);
    best.arena = std::numeric_limits<int64_t>::max();
    target = std::max(best.lowerBound, options.capacity.value_or(0));
  }

  Packing run() {
    for (const Weights &weights : portfolio)
      if (tryWeights(weights, nullptr, 0))
        return std::move(best);
    work = options.work;
    // Where the exact search may follow, a few restarts decide whether it is needed.
    const int64_t few = 8 * static_cast<int64_t>(shapes.shapes.size());
    restart(isSearchable() ? std::min(work / 4, few) : work);
    if (isSearchable())
      search();
    return std::move(best);
  }

private:
  /// Noisy ranks around random weights.
  void restart(int64_t quota) {
    Random random(0x9E3779B97F4A7C15ULL);
    // With very many shapes a skyline takes longer per shape.
    constexpr int64_t many = 4000;
    const auto count = static_cast<int64_t>(shapes.shapes.size());
    const int64_t workOfRestart = count * std::max<int64_t>(1, count / many);
    for (; quota > 0 && !options.isCancelled() && isWorthARestart();
         quota -= workOfRestart, work -= workOfRestart) {
      const Weights weights = {random.unit() * 1.5 - 0.25, random.unit() * 1.5 - 0.25};
      tryWeights(weights, &random, random.unit() * 2);
    }
  }

  /// A skyline wastes about one buffer, whatever their number. Where a restart takes a third of a
  /// second, a ten-thousandth of the arena does not justify one, unless a capacity requires it.
  bool isWorthARestart() const {
    constexpr size_t veryMany = 20000;
    const bool isGain = options.capacity || shapes.shapes.size() < veryMany ||
                        best.arena - best.lowerBound > best.lowerBound / 10000;
    return best.arena > target && isGain;
  }

  /// A node of the search takes time linear in the shapes, and there are at least as many nodes as
  /// shapes. The search adds offsets without an overflow check.
  bool isSearchable() const {
    constexpr size_t mostSearched = 6000;
    return shapes.shapes.size() <= mostSearched &&
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

  /// True where the target is met.
  bool tryWeights(Weights weights, Random *random, double noise) {
    const size_t count = shapes.shapes.size();
    std::vector<double> score(count);
    for (size_t i = 0; i < count; ++i)
      score[i] = weights.size * logSize[i] + weights.length * logLength[i] +
                 (random ? noise * random->unit() : 0.0);
    std::vector<int32_t> byScore(count), rank(count);
    std::iota(byScore.begin(), byScore.end(), 0);
    std::stable_sort(byScore.begin(), byScore.end(),
                     [&](int32_t a, int32_t b) { return score[a] < score[b]; });
    for (size_t i = 0; i < count; ++i)
      rank[byScore[i]] = static_cast<int32_t>(i);
    std::vector<int64_t> offsets;
    const int64_t arena = skyline.run(rank, best.arena, offsets);
    if (arena < best.arena || best.offsets.empty()) {
      best.arena = arena;
      best.offsets = std::move(offsets);
    }
    return best.arena <= target;
  }

  const Shapes &shapes;
  const PackOptions &options;
  Skyline skyline;
  std::vector<double> logSize, logLength;
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

int64_t packWork(double seconds) {
  constexpr double unitsPerSecond = 1e6; // the median rate of the search on 150 to 6,000 buffers
  return static_cast<int64_t>(std::min(seconds, 1e9) * unitsPerSecond);
}

Packing packShapes(const Shapes &shapes, const PackOptions &options) {
  if (shapes.shapes.empty())
    return {};
  Packing packed = Packer(shapes, options).run();
  if (options.capacity && packed.arena > *options.capacity &&
      packed.lowerBound <= *options.capacity)
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
