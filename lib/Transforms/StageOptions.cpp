//===- StageOptions.cpp - Options with a part for each pipeline stage ---------===//

#include "llmmem/Transforms/StageOptions.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace mlir;
using namespace llmmem;

llvm::SmallVector<llvm::StringRef> llmmem::partsOfStages(llvm::StringRef option) {
  llvm::SmallVector<llvm::StringRef> parts;
  option.split(parts, ',');
  return parts;
}

llvm::StringRef llmmem::partOfStage(llvm::StringRef option, int64_t stage) {
  llvm::SmallVector<llvm::StringRef> parts = partsOfStages(option);
  return parts[std::clamp<int64_t>(stage, 0, static_cast<int64_t>(parts.size()) - 1)];
}

llvm::StringRef llmmem::partOfStage(llvm::StringRef option, func::FuncOp function) {
  auto stage = function->getAttrOfType<IntegerAttr>(llm::LlmDialect::kStage);
  return partOfStage(option, stage ? stage.getInt() : 0);
}

llvm::Error llmmem::checkPartsOfStages(llvm::StringRef name, llvm::StringRef option,
                                       int64_t stages) {
  const int64_t parts = static_cast<int64_t>(partsOfStages(option).size());
  if (parts > 1 && llvm::is_contained(partsOfStages(option), ""))
    return llvm::createStringError(name + ": '" + option +
                                   "' has nothing before or after a comma; give one for all "
                                   "stages, or one for each");
  if (parts == 1 || parts == stages)
    return llvm::Error::success();
  if (stages == 0)
    return llvm::createStringError(name + ": '" + option + "' is for " + llvm::Twine(parts) +
                                   " stages, and there are none; give one, or stages, as in "
                                   "mesh pp=" +
                                   llvm::Twine(parts));
  return llvm::createStringError(name + ": '" + option + "' is for " + llvm::Twine(parts) +
                                 " stages, and the mesh has " + llvm::Twine(stages) +
                                 "; give one for all, or one for each");
}
