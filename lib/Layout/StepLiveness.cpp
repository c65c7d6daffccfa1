//===- StepLiveness.cpp - What is live where, and the peak -----------------===//

#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Layout/Barriers.h"
#include "llmmem/Layout/InPlace.h"
#include "llmmem/Layout/LastReads.h"
#include "llmmem/Layout/Places.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Layout/Workspaces.h"

using namespace mlir;
using namespace llmmem;

namespace {
class LivenessBuilder {
public:
  LivenessBuilder(func::FuncOp step, const StepStorage &storage)
      : step(step), storage(storage), body(step.getBody().front()) {}

  StepLiveness run() {
    listOps();
    out.resident = StepResidents(step).device.own;
    for (int64_t position = 0; position < static_cast<int64_t>(out.ops.size()); ++position)
      addResults(position);
    sumUp();
    return std::move(out);
  }

private:
  /// Views and constants take the position of the op that precedes them.
  void listOps() {
    for (Operation &op : body.without_terminator()) {
      if (!isFreeViewOp(&op) && !isResidentOp(&op))
        out.ops.push_back(&op);
      positions[&op] = static_cast<int64_t>(out.ops.size()) - 1;
    }
    positions[body.getTerminator()] = out.ops.size();
    auto rootOf = [&](Value value) { return storage.getRoot(value); };
    for (auto [value, reader] : findLastReads(body, rootOf, readsOf))
      lastRead[value] = positions.lookup(reader);
  }

  /// A copy reads until the op that precedes its wait.
  static SmallVector<Value> readsOf(Operation &op) {
    if (auto wait = dyn_cast<llm::WaitOp>(op)) {
      Operation *start = wait.getStart();
      return start && llm::isHostCopy(start) ? SmallVector<Value>{start->getOperand(0)}
                                             : SmallVector<Value>();
    }
    return isFreeViewOp(&op) || isResidentOp(&op) ? SmallVector<Value>()
                                                  : SmallVector<Value>(op.getOperands());
  }

  /// Returns whether `source` dies at `position`, holds enough bytes, and is where the plan puts
  /// `result`.
  bool fits(OpResult result, Value source, int64_t position) {
    auto it = bufferOf.find(source);
    if (!isInArena(result) || it == bufferOf.end() || lastRead.lookup(source) != position ||
        out.buffers[it->second].values.back() != source ||
        bytesOfType(source.getType()) < bytesOfType(result.getType()))
      return false;
    std::optional<int64_t> offset = plannedOffset(result);
    return !offset || offset == plannedOffset(cast<OpResult>(source));
  }

  bool isInArena(OpResult result) const {
    return storage.hasOwnBytes(result) && !llm::isOnHost(result.getType());
  }

  void addResults(int64_t position) {
    SmallVector<InPlaceCandidate, 4> candidates =
        inPlaceCandidates(out.ops[position], [&](Value value) { return storage.getRoot(value); });
    llvm::erase_if(candidates, [&](const InPlaceCandidate &candidate) {
      return !fits(candidate.result, candidate.source, position);
    });
    llvm::SmallDenseMap<Value, unsigned> taken; // result -> buffer
    for (auto [result, source] : chooseInPlace(candidates))
      taken[result] = bufferOf[source];
    for (OpResult result : out.ops[position]->getResults()) {
      if (!isInArena(result))
        continue;
      auto known = lastRead.find(result);
      int64_t last = known == lastRead.end() ? position : known->second;
      auto [it, isNew] = taken.try_emplace(result, out.buffers.size());
      if (isNew)
        out.buffers.push_back({{}, bytesOfType(result.getType()), position, last});
      LiveBuffer &buffer = out.buffers[bufferOf[result] = it->second];
      buffer.values.push_back(result);
      buffer.last = last;
    }
  }

  void sumUp() {
    size_t count = out.ops.size();
    std::vector<int64_t> change(count + 2, 0);
    for (const LiveBuffer &buffer : out.buffers)
      addBuffer(buffer, change);
    int64_t live = out.resident;
    for (size_t position = 0; position < count; ++position) {
      out.workspace.push_back(workspaceBytes(out.ops[position]));
      live += change[position];
      out.live.push_back(live + out.workspace.back());
      if (out.live.back() > out.peak) {
        out.peak = out.live.back();
        out.peakPosition = position;
      }
    }
    out.peak = std::max(out.peak, out.resident);
  }

  /// A smaller successor holds fewer bytes from the position after the hand-over on.
  void addBuffer(const LiveBuffer &buffer, std::vector<int64_t> &change) {
    int64_t held = buffer.bytes;
    change[buffer.first] += held;
    for (Value value : llvm::drop_begin(buffer.values)) {
      int64_t bytes = bytesOfType(value.getType());
      int64_t handOver = positions.lookup(value.getDefiningOp());
      change[handOver + 1] += bytes - held;
      held = bytes;
    }
    change[buffer.last + 1] -= held;
  }

  func::FuncOp step;
  const StepStorage &storage;
  Block &body;
  StepLiveness out;
  llvm::DenseMap<Value, int64_t> lastRead;
  llvm::DenseMap<Value, unsigned> bufferOf;
  llvm::DenseMap<Operation *, int64_t> positions;
};
} // namespace

StepLiveness::StepLiveness(func::FuncOp step, const StepStorage &storage)
    : StepLiveness(LivenessBuilder(step, storage).run()) {}

Value StepLiveness::holder(const LiveBuffer &buffer, int64_t position) const {
  Value held = buffer.values.front();
  for (Value value : llvm::drop_begin(buffer.values)) {
    // The successor's op still reads the predecessor: while it runs the bytes are named after the
    // result.
    if (llvm::find(ops, value.getDefiningOp()) - ops.begin() <= position)
      held = value;
  }
  return held;
}
