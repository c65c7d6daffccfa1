//===- Placement.h - Offsets in one arena ----------------------------------===//
//
// Dynamic storage allocation: buffers with half-open live ranges [lower, upper) and sizes get
// offsets so that no two that are live together overlap. The largest sum of live bytes is a lower
// bound; an arena that equals it is optimal, with that live set as its certificate.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALLOCATION_PLACEMENT_H
#define LLMMEM_PLANNING_ALLOCATION_PLACEMENT_H

#include "llmmem/Planning/Model/Cancellation.h"
#include "llmmem/Planning/Model/Plan.h"
#include <span>

namespace llmmem::planning {

struct Buffer {
  int64_t lower; // first position at which the buffer is held
  int64_t upper; // exclusive
  int64_t size;  // bytes
};

/// Says what follows where the buffers that are live at full steps are not packed within the
/// capacity: a search of all buffers, such a search only where heuristics end within a sixty-fourth
/// of the capacity, or nothing.
enum class AfterCore { Search, SearchNear, End };

struct PackOptions {
  int64_t alignment = 1;
  std::optional<int64_t> capacity; // stop as soon as the arena is no larger than this
  int64_t work = 0;                // units of search after the heuristics; 0: heuristics alone
  int64_t ejections = 0;           // work of ejection chains, where the capacity is not met
  AfterCore afterCore = AfterCore::Search;
  bool isFirstTry = false;              // two heuristics alone, which take a tenth of the time
  Cancellation *cancellation = nullptr; // ends the search: the best packing so far is the answer

  bool isCancelled() const { return cancellation && cancellation->isAsked(); }
};

struct Packing {
  std::vector<int64_t> offsets; // one per buffer
  int64_t arena = 0;            // end of the highest buffer
  int64_t lowerBound = 0;       // largest sum of live bytes, sizes rounded up to the alignment
};

/// Returns the work that fits into `seconds` on one core of 2020's make. The rate is fixed, so that
/// equal flags give equal packings.
LLMMEM_EXPORT int64_t packWork(double seconds);

/// Packs `buffers`. The packing is deterministic: equal input gives equal offsets.
/// Example: [0,2)x4, [1,3)x4, [2,4)x4 at alignment 1 get offsets 0, 4, 0; arena 8 = lowerBound.
LLMMEM_EXPORT Packing pack(const std::vector<Buffer> &buffers, const PackOptions &options);

/// The range of steps, first to last, during which a step on another resource runs.
struct StepSpan {
  int32_t first, last;
};

/// Fills offsets, workspaces, arena, peak and cost of `plan` for its `steps`; in-place pairs share
/// bytes wherever the rules of the problem allow it. `steps` must be a valid schedule. `spans` is
/// empty or has one entry for each step. It keeps what a step reads, writes and works in apart from
/// the bytes of all steps of its span, so that none of them waits for another's bytes. The arena
/// may then exceed the peak, which counts each step at its own place. `like` is a placed plan of
/// similar steps, at whose offsets the search begins.
void placeSteps(const Problem &problem, Plan &plan, const PackOptions &options,
                std::span<const StepSpan> spans = {}, const Plan *like = nullptr);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALLOCATION_PLACEMENT_H
