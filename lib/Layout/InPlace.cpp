//===- InPlace.cpp - When a result may share an operand's bytes -------------===//

#include "llmmem/Layout/InPlace.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Planning/Model/InPlace.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::mayOverwrite(OpResult result, llvm::function_ref<bool(Value)> liesThere,
                          InPlacePermission allowed) {
  SmallVector<unsigned> operands = allowed(result);
  bool isRead = false;
  for (OpOperand &operand : result.getOwner()->getOpOperands()) {
    if (!liesThere(operand.get()))
      continue;
    isRead = true;
    if (!llvm::is_contained(operands, operand.getOperandNumber()))
      return false;
  }
  return isRead;
}

SmallVector<InPlaceCandidate, 4> llmmem::inPlaceCandidates(Operation *op,
                                                           llvm::function_ref<Value(Value)> rootOf,
                                                           InPlacePermission allowed) {
  SmallVector<InPlaceCandidate, 4> candidates;
  for (OpResult result : op->getResults())
    for (unsigned operand : allowed(result)) {
      Value root = rootOf(op->getOperand(operand));
      auto liesThere = [&](Value other) { return rootOf(other) == root; };
      if (root && mayOverwrite(result, liesThere, allowed))
        candidates.push_back({result, root});
    }
  return candidates;
}

SmallVector<InPlaceCandidate, 4> llmmem::chooseInPlace(ArrayRef<InPlaceCandidate> candidates) {
  SmallVector<Value> values; // by the number that the planner's pairs name
  llvm::DenseMap<Value, planning::ValueIndex> numbers;
  auto numberOf = [&](Value value) {
    auto [it, isNew] = numbers.try_emplace(value, values.size());
    if (isNew)
      values.push_back(value);
    return it->second;
  };
  SmallVector<planning::InPlace, 4> pairs;
  for (const InPlaceCandidate &candidate : candidates)
    pairs.push_back({numberOf(candidate.result), numberOf(candidate.source)});
  pairs = planning::chooseInPlace(std::move(pairs), [&](planning::ValueIndex value) {
    return bytesOfType(values[value].getType());
  });
  SmallVector<InPlaceCandidate, 4> chosen;
  for (const planning::InPlace &pair : pairs)
    chosen.push_back({cast<OpResult>(values[pair.write]), values[pair.read]});
  return chosen;
}
