//===- Places.h - Where a planned step puts its bytes -----------------------===//

#ifndef LLMMEM_LAYOUT_PLACES_H
#define LLMMEM_LAYOUT_PLACES_H

#include "llmmem/Layout/StepStorage.h"
#include <optional>

namespace llmmem {

/// Says where a value begins: in an arena, or in an argument.
struct Place {
  std::optional<unsigned> argument;
  int64_t offset = 0;  // from the arena's start; 0 for an argument
  bool onHost = false; // in the arena of the host's memory

  bool operator==(const Place &other) const {
    return argument == other.argument && offset == other.offset && onHost == other.onHost;
  }
};

/// Holds bytes of an arena, or of an argument.
struct ByteRange {
  std::optional<unsigned> argument;
  int64_t begin = 0, end = 0;
  bool onHost = false; // of the arena of the host's memory

  /// Returns whether writing one of them changes the other. All that lies in one argument does.
  bool meets(const ByteRange &other) const {
    if (argument || other.argument)
      return argument == other.argument;
    return onHost == other.onHost && begin < other.end && other.begin < end;
  }
};

/// Returns whether a range of `some` meets one of `others`.
bool anyMeet(llvm::ArrayRef<ByteRange> some, llvm::ArrayRef<ByteRange> others);

/// Holds scratch bytes in the device's arena.
struct Workspace {
  int64_t offset = 0, bytes = 0;
};

/// Returns whether `op` has an offset in `llm.offsets` for each of its results, and no more.
bool hasOffsets(mlir::Operation *op);

/// Returns the offset that `llm.offsets` gives `result`; none where the op is not planned.
std::optional<int64_t> plannedOffset(mlir::OpResult result);

/// Returns the scratch bytes that `llm.workspace` gives `op`; none without it.
std::optional<Workspace> plannedWorkspace(mlir::Operation *op);

/// Returns where `value` of a planned step lies; at offset -1 where its op is not planned.
/// (`StepPlaces` refuses such steps.)
Place plannedPlace(mlir::Value value, const StepStorage &storage);

/// Returns the bytes of `root`, which is no view, from `place` on.
ByteRange rangeOf(mlir::Value root, const Place &place);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_PLACES_H
