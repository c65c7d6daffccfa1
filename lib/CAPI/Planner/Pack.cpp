//===- Pack.cpp - Offsets for buffers in plain arrays ---------------------------===//

#include "llmmem-c/Planner.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace llmmem;
using namespace llmmem::capi;
using namespace llmmem::planning;

static Result<PackOptions> takeOptions(const llmmem_pack_options &given) {
  if (given.alignment < 0)
    return Failure{"alignment: must not be negative; 0 is 1"};
  if (given.capacity < 0)
    return Failure{"capacity: must not be negative; 0 is none"};
  if (!(given.seconds >= 0) || !std::isfinite(given.seconds))
    return Failure{"seconds: expected a number from 0 up"};
  PackOptions options;
  options.alignment = std::max<int64_t>(given.alignment, 1);
  options.work = packWork(given.seconds);
  if (given.capacity > 0)
    options.capacity = given.capacity;
  return options;
}

static Result<std::vector<Buffer>> takeBuffers(int64_t count, const int64_t *lower,
                                               const int64_t *upper, const int64_t *sizes,
                                               int64_t alignment) {
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  if (count < 0 || count >= std::numeric_limits<int32_t>::max())
    return Failure{"count: is " + std::to_string(count) + "; expected 0 to 2^31 - 2"};
  if (count > 0 && (!lower || !upper || !sizes))
    return Failure{std::string(!lower ? "lower" : !upper ? "upper" : "sizes") + ": is NULL"};
  std::vector<Buffer> buffers;
  __int128 sum = 0; // rounded up, as the arena holds them
  for (int64_t i = 0; i < count; ++i) {
    const std::string at = "[" + std::to_string(i) + "]: ";
    if (lower[i] >= upper[i])
      return Failure{"upper" + at + "must be larger than lower, which is " +
                     std::to_string(lower[i])};
    if (sizes[i] < 0)
      return Failure{"sizes" + at + "must not be negative"};
    sum += (static_cast<__int128>(sizes[i]) + alignment - 1) / alignment * alignment;
    if (sum > largest)
      return Failure{"sizes: rounded up to the alignment they add up to 2^63 or more"};
    buffers.push_back({lower[i], upper[i], sizes[i]});
  }
  return buffers;
}

llmmem_result llmmem_pack(int64_t count, const int64_t *lower, const int64_t *upper,
                          const int64_t *sizes, const llmmem_pack_options *givenOptions,
                          int64_t *offsets, int64_t *arena, int64_t *lowerBound, char **error) {
  clear(error);
  const llmmem_pack_options defaults = LLMMEM_INIT(llmmem_pack_options);
  Result<llmmem_pack_options> taken = take(givenOptions ? givenOptions : &defaults, "options");
  if (!taken)
    return invalid(error, taken.error());
  Result<PackOptions> options = takeOptions(*taken);
  if (!options)
    return invalid(error, options.error());
  Result<std::vector<Buffer>> buffers = takeBuffers(count, lower, upper, sizes, options->alignment);
  if (!buffers)
    return invalid(error, buffers.error());
  if (count > 0 && !offsets)
    return invalid(error, "offsets: is NULL");

  Cancellation cancellation([&] { return taken->is_cancelled(taken->user) != 0; });
  if (taken->is_cancelled)
    options->cancellation = &cancellation;
  const Packing packing = pack(*buffers, *options);
  std::copy(packing.offsets.begin(), packing.offsets.end(), offsets);
  if (arena)
    *arena = packing.arena;
  if (lowerBound)
    *lowerBound = packing.lowerBound;
  return LLMMEM_OK;
}
