//===- StageValues.cpp - The part that each value has in a chain ---------------------===//

#include "StageValues.h"
#include <algorithm>

using namespace llmmem::planning;

StageValues::StageValues(const Graph &graph, const Chain &chain)
    : isExtra(graph.numValues(), false), boundary(chain.numStages + 1), saved(chain.numStages + 1),
      graph(graph), chain(chain), numStages(chain.numStages), segmentOfOp(graph.numOps(), 0),
      birth(graph.numValues(), 0), death(graph.numValues(), 0), extraBytes(chain.numStages + 3, 0) {
  for (size_t place = 0; place < chain.order.size(); ++place)
    segmentOfOp[chain.order[place]] = chain.segmentOf[place];
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    const OpIndex writer = graph.writer(value);
    if (writer < 0)
      readInput(value);
    else if (stageOf(writer) > 0)
      readForwardValue(value);
    else
      addExtra(value, segmentOf(writer));
  }
  for (size_t segment = 1; segment < extraBytes.size(); ++segment)
    extraBytes[segment] += extraBytes[segment - 1];
  endLastStage();
}

/// Says that the value is live from segment `from` on to its last reader. A stage may run again
/// until its own segment.
void StageValues::addExtra(ValueIndex value, int32_t from) {
  isExtra[value] = true;
  birth[value] = from;
  death[value] = graph.isKept(value) ? lastSegment() + 1 : from;
  for (OpIndex reader : graph.readers(value))
    death[value] = std::max(death[value], stageOf(reader) > 0 ? segmentOfStage(stageOf(reader))
                                                              : segmentOf(reader));
  extraBytes[from + 1] += graph.bytes(value);
  if (death[value] + 1 < static_cast<int32_t>(extraBytes.size()))
    extraBytes[death[value] + 1] -= graph.bytes(value);
}

void StageValues::readInput(ValueIndex value) {
  const llvm::ArrayRef<OpIndex> readers = graph.readers(value);
  if (graph.bytes(value) == 0 || (readers.empty() && !graph.isKept(value)))
    return;
  const bool isOfFirst = llvm::all_of(readers, [&](OpIndex reader) {
    return stageOf(reader) == 1 || (stageOf(reader) == 0 && segmentOf(reader) >= segmentOfStage(1));
  });
  if (!isOfFirst || readers.empty()) {
    addExtra(value, 0);
    hasForeign = true;
    return;
  }
  boundary[0].push_back(value);
  keepsInput |= graph.isKept(value) || llvm::any_of(readers, [&](OpIndex reader) {
                  return segmentOf(reader) == lastSegment();
                });
}

/// Says whether each segment that reads the value is that of its stage, or that of a later stage
/// that has the value in its input.
bool StageValues::isReadInTurn(ValueIndex value, int32_t stage, int32_t lastReader) const {
  return llvm::all_of(graph.readers(value), [&](OpIndex reader) {
    const int32_t segment = segmentOf(reader);
    return stageOf(reader) > 0 ||
           (segment <= segmentOfStage(stage) &&
            (segment >= segmentOfStage(lastReader) || segment == segmentOfStage(stage)));
  });
}

void StageValues::readForwardValue(ValueIndex value) {
  constexpr int32_t farthest = 2; // what is read farther away is read by the whole chain
  const int32_t stage = stageOf(graph.writer(value));
  int32_t lastReader = stage;
  bool isSaved = false;
  for (OpIndex reader : graph.readers(value)) {
    lastReader = std::max(lastReader, stageOf(reader));
    isSaved |= stageOf(reader) == 0;
  }
  if (graph.bytes(value) == 0 || graph.isKept(value) || lastReader - stage > farthest ||
      !isReadInTurn(value, stage, lastReader)) {
    addExtra(value, 0);
    hasForeign |= graph.bytes(value) > 0;
    return;
  }
  for (int32_t passed = stage; passed < lastReader; ++passed)
    boundary[passed].push_back(value);
  if (isSaved && lastReader == stage)
    saved[stage].push_back(value);
}

/// The last stage ends with the one value that its segment reads, where there is one.
void StageValues::endLastStage() {
  if (saved[numStages].size() == 1)
    boundary[numStages].swap(saved[numStages]);
}
