//===- LlmVerifyAttributes.cpp - Facts that other passes read --------------===//
//
// What a misspelling would change without a word is checked here; what a plan claims is checked
// by verify-plan.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Blocks index tables of the reports.
static constexpr int64_t mostBlocks = 1 << 20;

static LogicalResult expectWord(Operation *op, NamedAttribute attribute,
                                ArrayRef<StringRef> words) {
  auto text = dyn_cast<StringAttr>(attribute.getValue());
  if (text && llvm::is_contained(words, text.getValue()))
    return success();
  return op->emitError() << "'" << attribute.getName().getValue() << "' is " << attribute.getValue()
                         << ", expected one of " << llvm::join(words, ", ");
}

LogicalResult LlmDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == kPhase)
    return expectWord(op, attribute, {"forward", "backward", "update"});
  if (name == kLibraryWorkspaceAttr) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    auto cost = dyn_cast<CostOpInterface>(op);
    if (bytes && bytes.getInt() > 0 && bytes.getInt() % 256 == 0 && cost &&
        cost.multipliesMatrices())
      return success();
    return op->emitError() << "'" << name << "' is " << attribute.getValue()
                           << ", expected a multiple of 256 on an op that multiplies matrices";
  }
  if (name != kBlock)
    return success();
  auto block = dyn_cast<IntegerAttr>(attribute.getValue());
  if (block && block.getType().isSignlessInteger(64) && block.getInt() >= 0 &&
      block.getInt() < mostBlocks)
    return success();
  return op->emitError() << "'" << kBlock << "' is " << attribute.getValue()
                         << ", expected a number from 0 to " << mostBlocks - 1 << " as i64";
}

LogicalResult LlmDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                   NamedAttribute attribute) {
  if (attribute.getName().getValue() != kRole)
    return success();
  return expectWord(op, attribute,
                    {"param", "optimizer_state", "gradient", "input", "kv_cache", "seed"});
}
