//===- LlmDialect.cpp - Registration of ops and attributes -----------------===//

#include "llmmem/Dialect/ConvolutionOps.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/RecurrentOps.h"
#include "llmmem/Dialect/TargetInterface.h"
#include "llmmem/Dialect/TiledOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

FloatType llm::wideTypeFor(Type elementType) {
  const ElementTraits *traits = traitsOf(elementType);
  return traits && traits->isWide ? cast<FloatType>(elementType)
                                  : FloatType(Float32Type::get(elementType.getContext()));
}

const llm::TargetInterface *llm::getTargets(Operation *op) {
  auto *dialect = op->getContext()->getLoadedDialect<LlmDialect>();
  return dialect ? dialect->getRegisteredInterface<TargetInterface>() : nullptr;
}

void llm::LlmDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "llmmem/Dialect/LlmOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "llmmem/Dialect/ConvolutionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "llmmem/Dialect/RecurrentOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "llmmem/Dialect/TiledOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "llmmem/Dialect/LlmAttributes.cpp.inc"
      >();
}

#include "llmmem/Dialect/LlmDialect.cpp.inc"
#include "llmmem/Dialect/LlmEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "llmmem/Dialect/LlmAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "llmmem/Dialect/LlmOps.cpp.inc"
