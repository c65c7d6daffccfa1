//===- StepLiveness.cpp - What is live where, and the peak -----------------===//

#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Layout/Barriers.h"
#include "llmmem/Layout/InPlace.h"
#include "llmmem/Layout/Workspaces.h"

using namespace mlir;
using namespace llmmem;

namespace {
class LivenessBuilder {
public:
  LivenessBuilder(func::FuncOp step, const StepStorage &storage)
      : storage(storage), body(step.getBody().front()) {}

  StepLiveness run() {
    findLastReads();
    for (BlockArgument argument : body.getArguments())
      if (!llm::isOnHost(argument.getType()))
        out.resident += bytesOfType(argument.getType());
    for (Operation &op : body)
      if (isResidentOp(&op))
        for (Value result : op.getResults())
          out.resident += residentBytes(result);
    for (int64_t position = 0; position < static_cast<int64_t>(out.ops.size()); ++position)
      addResults(position);
    sumUp();
    return std::move(out);
  }

private:
  void findLastReads() {
    for (Operation &op : body.without_terminator()) {
      if (auto wait = dyn_cast<llm::WaitOp>(op))
        holdUntil(wait);
      if (isFreeViewOp(&op) || isResidentOp(&op))
        continue;
      for (Value operand : op.getOperands())
        lastRead[storage.getRoot(operand)] = out.ops.size();
      out.ops.push_back(&op);
    }
    for (Value operand : body.getTerminator()->getOperands())
      lastRead[storage.getRoot(operand)] = out.ops.size();
  }

  /// A copy reads until it is waited for: until the op in front of that.
  void holdUntil(llm::WaitOp wait) {
    Operation *start = wait.getStart();
    if (!start || !llm::isHostCopy(start) || out.ops.empty())
      return;
    int64_t &last = lastRead[storage.getRoot(start->getOperand(0))];
    last = std::max<int64_t>(last, out.ops.size() - 1);
  }

  /// The operand's root whose bytes `result` takes over at `position`, or null.
  Value takenOver(OpResult result, int64_t position) {
    int64_t bytes = bytesOfType(result.getType());
    for (unsigned operand : inPlaceOperands(result)) {
      Value root = storage.getRoot(result.getOwner()->getOperand(operand));
      auto it = bufferOf.find(root);
      if (it == bufferOf.end() || lastRead.lookup(root) != position ||
          out.buffers[it->second].values.back() != root || bytesOfType(root.getType()) < bytes ||
          !mayOverwrite(result, [&](Value other) { return storage.getRoot(other) == root; }))
        continue;
      if (!offsetOf(result) || offsetOf(result) == offsetOf(root))
        return root;
    }
    return nullptr;
  }

  static std::optional<int64_t> offsetOf(Value value) {
    auto result = cast<OpResult>(value);
    auto offsets = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kOffsets);
    if (!offsets || offsets.size() <= static_cast<int64_t>(result.getResultNumber()))
      return std::nullopt;
    return offsets[result.getResultNumber()];
  }

  void addResults(int64_t position) {
    for (OpResult result : out.ops[position]->getResults()) {
      if (!storage.hasOwnBytes(result) || llm::isOnHost(result.getType()))
        continue;
      auto it = lastRead.find(result);
      int64_t last = it == lastRead.end() ? position : it->second;
      if (Value source = takenOver(result, position)) {
        unsigned buffer = bufferOf[source];
        out.buffers[buffer].values.push_back(result);
        out.buffers[buffer].last = last;
        bufferOf[result] = buffer;
        continue;
      }
      bufferOf[result] = out.buffers.size();
      out.buffers.push_back({{result}, bytesOfType(result.getType()), position, last});
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
      int64_t handOver = positionOf(value.getDefiningOp());
      change[handOver + 1] += bytes - held;
      held = bytes;
    }
    change[buffer.last + 1] -= held;
  }

  int64_t positionOf(Operation *op) {
    if (positions.empty())
      for (auto [position, entry] : llvm::enumerate(out.ops))
        positions[entry] = position;
    return positions.lookup(op);
  }

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
