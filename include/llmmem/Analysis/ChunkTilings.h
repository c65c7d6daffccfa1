//===- ChunkTilings.h - The chunks that a plan can choose from ---------------===//
//
// Each tiling of a step says how many rows its chunked ops (`ChunkedOpInterface`) work on at a
// time, and what they then cost and hold.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_CHUNKTILINGS_H
#define LLMMEM_ANALYSIS_CHUNKTILINGS_H

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/ProblemExtraction.h"
#include "llmmem/Planning/Variants/Tilings.h"

namespace llmmem {

/// Says what a user asks for: all candidates ("auto"), all rows at once ("whole"), or so many.
struct ChunkRequest {
  enum class Kind { Auto, Whole, Rows } kind = Kind::Auto;
  int64_t rows = 0;
};

/// Parses "auto", "whole", or a positive number.
llvm::Expected<ChunkRequest> parseChunkRequest(llvm::StringRef text);

/// Holds an op with so many rows at a time, and what it costs then.
struct ChunkChoice {
  mlir::Operation *op;
  int64_t rows;
  OpCost cost;
};

struct ChunkTilings {
  std::vector<planning::Tiling>
      tilings; // cheapest first; one that changes nothing where no op has chunks
  /// Lists the chunked ops of each tiling.
  std::vector<llvm::SmallVector<ChunkChoice>> chunks;
};

/// Returns the tilings of an extracted step. Fails, after a diagnostic at the op, where it cannot
/// work on as many rows at a time as asked for. Several chunked ops go from tiling to tiling
/// together.
llvm::FailureOr<ChunkTilings> findChunkTilings(const ExtractedProblem &extracted,
                                               const ChunkRequest &request,
                                               const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_CHUNKTILINGS_H
