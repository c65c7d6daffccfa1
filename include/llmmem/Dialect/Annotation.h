//===- Annotation.h - What an attribute of the dialect may be --------------===//
//
// The entries are in LlmAnnotations.td; `LlmDialect::getAnnotations()` lists them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_ANNOTATION_H
#define LLMMEM_DIALECT_ANNOTATION_H

#include "mlir/IR/Operation.h"

namespace llmmem::llm {

/// Says where an annotation may stand. `Op` is any op except a function or a module.
enum class AnnotationPlace { Argument, Op, ArgumentOrOp, Function, Module };

/// Describes a discardable attribute of the dialect.
struct Annotation {
  llvm::StringLiteral name;
  /// Says in words what `holds` accepts.
  llvm::StringLiteral expected;
  /// Returns whether an op, or one of its arguments, may carry `attribute` under this name.
  bool (*holds)(mlir::Operation *op, mlir::Attribute attribute);
  AnnotationPlace place;
};

/// These check what annotations hold (`Llm_Value` in LlmAnnotations.td).
namespace annotation {
bool isRole(mlir::Operation *op, mlir::Attribute attribute);
bool isPhase(mlir::Operation *op, mlir::Attribute attribute);
bool areDecisions(mlir::Operation *op, mlir::Attribute attribute);
bool isCostSource(mlir::Operation *op, mlir::Attribute attribute);
bool isText(mlir::Operation *op, mlir::Attribute attribute);
bool areTexts(mlir::Operation *op, mlir::Attribute attribute);
bool isNumber(mlir::Operation *op, mlir::Attribute attribute);
bool isBlock(mlir::Operation *op, mlir::Attribute attribute);
bool isLibraryWorkspace(mlir::Operation *op, mlir::Attribute attribute);
bool areNumbers(mlir::Operation *op, mlir::Attribute attribute);
bool areViews(mlir::Operation *op, mlir::Attribute attribute);
bool areOperandLists(mlir::Operation *op, mlir::Attribute attribute);
bool isResident(mlir::Operation *op, mlir::Attribute attribute);
bool isReal(mlir::Operation *op, mlir::Attribute attribute);
bool isFlag(mlir::Operation *op, mlir::Attribute attribute);
bool isStart(mlir::Operation *op, mlir::Attribute attribute);
bool isDictionary(mlir::Operation *op, mlir::Attribute attribute);
bool areDictionaries(mlir::Operation *op, mlir::Attribute attribute);
bool areSymbols(mlir::Operation *op, mlir::Attribute attribute);
bool areLocations(mlir::Operation *op, mlir::Attribute attribute);
bool arePlaces(mlir::Operation *op, mlir::Attribute attribute);
bool isCost(mlir::Operation *op, mlir::Attribute attribute);
bool isTensorType(mlir::Operation *op, mlir::Attribute attribute);
bool isTraining(mlir::Operation *op, mlir::Attribute attribute);
bool isDataParallel(mlir::Operation *op, mlir::Attribute attribute);
bool isSharding(mlir::Operation *op, mlir::Attribute attribute);
bool isMesh(mlir::Operation *op, mlir::Attribute attribute);
} // namespace annotation

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_ANNOTATION_H
