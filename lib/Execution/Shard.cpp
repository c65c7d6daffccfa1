//===- Shard.cpp - The part of a whole that a rank holds -------------------===//

#include "llmmem/Execution/Shard.h"
#include "llmmem/Runtime/Collectives.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace llmmem;

int64_t Shard::position() const { return axes ? llmmem_group_position(axes) : 0; }
bool Shard::isHere() const { return !server || llmmem_group_position(server) == 0; }

static int64_t productOf(llvm::ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

int64_t Shard::wholeElements() const { return productOf(shape); }

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {
/// Pairs neighbours along one dimension: `count` from `whole` on are those from `part` on.
struct Interval {
  int64_t whole, part, count;
};

/// Describes a dimension of a shard.
struct SplitDimension {
  int64_t size = 0; // The size of the part, with padding.
  llvm::SmallVector<Interval> intervals;
};
} // namespace

static SplitDimension splitOf(int64_t size, llvm::ArrayRef<int64_t> pieces, int64_t ranks,
                              int64_t position) {
  SplitDimension split;
  int64_t begin = 0; // The beginning of the piece in the unsharded value.
  for (int64_t piece : pieces.empty() ? llvm::ArrayRef(size) : pieces) {
    int64_t share = llvm::divideCeil(piece, ranks), first = std::min(piece, position * share);
    int64_t count = std::min(piece - first, share);
    if (count > 0)
      split.intervals.push_back({begin + first, split.size, count});
    split.size += share;
    begin += piece;
  }
  return split;
}

/// Returns the ranks of a dimension, and the position among them.
static std::pair<int64_t, int64_t> placeOf(llvm::ArrayRef<Shard::Axis> axes, int64_t position,
                                           int64_t dimension) {
  int64_t ranks = 1, place = 0, stride = 1;
  for (const Shard::Axis &axis : llvm::reverse(axes)) {
    int64_t coordinate = position / stride % axis.ranks;
    stride *= axis.ranks;
    if (axis.dimension != dimension)
      continue;
    place += coordinate * ranks;
    ranks *= axis.ranks;
  }
  return {ranks, place};
}

llvm::SmallVector<int64_t, 4> Shard::shardShape() const {
  llvm::SmallVector<int64_t, 4> sizes;
  for (auto [dimension, size] : llvm::enumerate(shape)) {
    auto [ranks, place] = placeOf(split, 0, static_cast<int64_t>(dimension));
    llvm::ArrayRef<int64_t> own = pieces.empty() ? llvm::ArrayRef<int64_t>() : pieces[dimension];
    sizes.push_back(splitOf(size, own, ranks, place).size);
  }
  return sizes;
}

int64_t Shard::partElements() const {
  return productOf(shardShape()) / placeOf(split, 0, -1).first;
}

bool Shard::areInOrder() const {
  return llvm::all_of(split, [](const Axis &axis) { return axis.dimension < 0; }) ||
         (split.size() == 1 && split[0].dimension == 0 && shape[0] % split[0].ranks == 0 &&
          (pieces.empty() || pieces[0].empty()));
}

void Shard::forEachRun(int64_t position, llvm::function_ref<void(Run)> body) const {
  llvm::SmallVector<SplitDimension> dimensions;
  size_t last = 0; // The dimensions from here on are contiguous.
  for (auto [dimension, size] : llvm::enumerate(shape)) {
    auto [ranks, place] = placeOf(split, position, static_cast<int64_t>(dimension));
    llvm::ArrayRef<int64_t> own = pieces.empty() ? llvm::ArrayRef<int64_t>() : pieces[dimension];
    dimensions.push_back(splitOf(size, own, ranks, place));
    last = ranks > 1 ? dimension + 1 : last;
  }
  int64_t inner = productOf(llvm::ArrayRef(shape).drop_front(last));
  auto [shares, share] = placeOf(split, position, -1);
  int64_t size = partElements(), begin = share * size; // Sizes in the shard that is divided into
                                                       // shares.
  auto emit = [&](int64_t whole, int64_t part, int64_t count) {
    int64_t first = std::max(part, begin), end = std::min(part + count, begin + size);
    if (first < end)
      body({whole + first - part, first - begin, end - first});
  };
  // Visits the first dimension up to the last split one.
  auto visit = [&](auto &self, size_t dimension, int64_t whole, int64_t part) -> void {
    if (dimension == last)
      return emit(whole * inner, part * inner, inner);
    const SplitDimension &here = dimensions[dimension];
    whole *= shape[dimension], part *= here.size;
    for (const Interval &interval : here.intervals)
      if (dimension + 1 == last)
        emit((whole + interval.whole) * inner, (part + interval.part) * inner,
             interval.count * inner);
      else
        for (int64_t index = 0; index < interval.count; ++index)
          self(self, dimension + 1, whole + interval.whole + index, part + interval.part + index);
  };
  visit(visit, 0, 0, 0);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

std::vector<char> Shard::gather(llvm::ArrayRef<char> part) const {
  std::vector<char> all(part.size() * parts);
  llmmem_all_gather_bytes(part.data(), all.data(), static_cast<int64_t>(part.size()), axes);
  if (areInOrder())
    return all;
  int64_t bytes = static_cast<int64_t>(part.size()) / partElements(); // The bytes of an element.
  std::vector<char> whole(wholeElements() * bytes);
  for (int64_t position = 0; position < parts; ++position)
    forEachRun(position, [&](Run run) {
      std::memcpy(whole.data() + run.whole * bytes,
                  all.data() + position * part.size() + run.part * bytes, run.count * bytes);
    });
  return whole;
}

std::vector<char> Shard::take(int64_t position, llvm::StringRef whole) const {
  int64_t bytes = static_cast<int64_t>(whole.size()) / std::max<int64_t>(wholeElements(), 1);
  std::vector<char> part(partElements() * bytes);
  forEachRun(position, [&](Run run) {
    std::memcpy(part.data() + run.part * bytes, whole.data() + run.whole * bytes,
                run.count * bytes);
  });
  return part;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string Shard::toText() const {
  std::string text;
  for (const Axis &axis : split) {
    text += (text.empty() ? "" : " ") + std::to_string(axis.ranks) + "@";
    text += axis.dimension < 0 ? "-" : std::to_string(axis.dimension);
    if (axis.dimension < 0 || pieces.empty() || pieces[axis.dimension].empty())
      continue;
    auto sizes =
        llvm::map_range(pieces[axis.dimension], [](int64_t size) { return std::to_string(size); });
    text += ":" + llvm::join(sizes, "+");
  }
  return text;
}

/// Parses one axis and its pieces. Returns none where the text is invalid.
static std::optional<Shard::Axis> parseAxis(llvm::StringRef text, int64_t rank,
                                            llvm::SmallVectorImpl<int64_t> &pieces) {
  Shard::Axis axis;
  auto [ranks, place] = text.split('@');
  auto [dimension, sizes] = place.split(':');
  if (ranks.getAsInteger(10, axis.ranks) || axis.ranks < 1 || axis.ranks > INT32_MAX)
    return std::nullopt;
  if (dimension == "-")
    return sizes.empty() ? std::optional(axis) : std::nullopt;
  if (dimension.getAsInteger(10, axis.dimension) || axis.dimension < 0 || axis.dimension >= rank)
    return std::nullopt;
  for (llvm::StringRef size : llvm::split(sizes, '+')) {
    if (sizes.empty())
      break;
    if (size.getAsInteger(10, pieces.emplace_back()) || pieces.back() < 1)
      return std::nullopt;
  }
  return axis;
}

llvm::Expected<Shard> Shard::parse(llvm::StringRef text, llvm::ArrayRef<int64_t> shape) {
  Shard shard;
  shard.shape.assign(shape.begin(), shape.end());
  shard.pieces.resize(shape.size());
  auto refuse = [&] {
    return llvm::createStringError("'" + text + "' is no split of a tensor of " +
                                   llvm::Twine(shape.size()) + " dimensions");
  };
  for (llvm::StringRef word : llvm::split(text, ' ')) {
    llvm::SmallVector<int64_t, 0> pieces;
    std::optional<Axis> axis = parseAxis(word, static_cast<int64_t>(shape.size()), pieces);
    if (!axis || shard.parts > INT32_MAX / axis->ranks)
      return refuse();
    shard.parts *= axis->ranks;
    shard.split.push_back(*axis);
    if (pieces.empty())
      continue;
    int64_t sum = 0;
    for (int64_t size : pieces)
      sum = size > INT64_MAX - sum ? INT64_MAX : sum + size;
    if (sum != shape[axis->dimension])
      return refuse();
    shard.pieces[axis->dimension] = std::move(pieces);
  }
  int64_t shares = placeOf(shard.split, 0, -1).first;
  if (productOf(shard.shardShape()) % shares != 0)
    return refuse();
  return shard;
}
