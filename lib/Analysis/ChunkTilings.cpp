//===- ChunkTilings.cpp - The chunks that a plan can choose from -------------===//

#include "llmmem/Analysis/ChunkTilings.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/TiledOps.h"
#include "llmmem/Interfaces/ChunkedOpInterface.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace llmmem;

llvm::Expected<ChunkRequest> llmmem::parseChunkRequest(StringRef text) {
  ChunkRequest request;
  if (text == "auto")
    return request;
  request.kind = ChunkRequest::Kind::Whole;
  if (text == "whole")
    return request;
  request.kind = ChunkRequest::Kind::Rows;
  if (text.getAsInteger(10, request.rows) || request.rows < 1)
    return llvm::createStringError("expected auto, whole, or a number of tokens, not '" + text +
                                   "'");
  return request;
}

/// The request is that of the loss head. A feed-forward says itself what it was asked for.
static SmallVector<int64_t> candidatesOf(ChunkedOpInterface op, const ChunkRequest &request) {
  if (isa<llm::TiledOp>(op))
    return op.getChunkCandidates();
  switch (request.kind) {
  case ChunkRequest::Kind::Auto:
    return op.getChunkCandidates();
  case ChunkRequest::Kind::Whole:
    return {op.getNumRows()};
  case ChunkRequest::Kind::Rows:
    return {std::min(request.rows, op.getNumRows())};
  }
  return {};
}

/// Returns the price of `op` with so many rows at a time, asked of a copy: an analysis changes
/// nothing. The copy is in a function like its own, whose mesh says what it sends to how many
/// ranks.
static FailureOr<OpCost> priceAt(Operation *op, int64_t rows, const DeviceModel &device) {
  OwningOpRef<func::FuncOp> place(op->getParentOfType<func::FuncOp>().cloneWithoutRegions());
  Operation *copy = op->clone();
  place->getBody().emplaceBlock().push_back(copy);
  cast<ChunkedOpInterface>(copy).setChunkRows(rows);
  if (failed(verify(copy)))
    return failure();
  return getCost(copy, device);
}

FailureOr<ChunkTilings> llmmem::findChunkTilings(const ExtractedProblem &extracted,
                                                 const ChunkRequest &request,
                                                 const DeviceModel &device) {
  ChunkTilings result;
  result.tilings.resize(1);
  result.chunks.resize(1);
  SmallVector<std::pair<planning::OpIndex, SmallVector<int64_t>>> choices;
  for (auto [index, op] : llvm::enumerate(extracted.ops))
    if (auto chunked = dyn_cast<ChunkedOpInterface>(op))
      choices.push_back({index, candidatesOf(chunked, request)});
  for (auto &[index, candidates] : choices) {
    result.tilings.resize(std::max(result.tilings.size(), candidates.size()));
    result.chunks.resize(result.tilings.size());
  }
  // Equal ops of all blocks have one price.
  llvm::DenseMap<std::pair<Attribute, int64_t>, FailureOr<OpCost>> prices;
  for (auto &[index, candidates] : choices)
    for (size_t tiling = 0; tiling < result.tilings.size(); ++tiling) {
      Operation *op = extracted.ops[index];
      int64_t rows = candidates[std::min(tiling, candidates.size() - 1)];
      auto [price, isNew] = prices.try_emplace({KernelIdentity::of(op).codeKey(), rows}, failure());
      if (isNew)
        price->second = priceAt(op, rows, device);
      const FailureOr<OpCost> cost = price->second;
      if (failed(cost))
        return failure();
      result.tilings[tiling].push_back({index, cost->ns, cost->workspace});
      result.chunks[tiling].push_back({extracted.ops[index], rows, *cost});
    }
  return result;
}
