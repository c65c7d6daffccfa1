//===- LlmVerifyAttributes.cpp - Facts that other passes read --------------===//
//
// These checks find what a misspelling would change without a word; verify-plan checks what a plan
// claims.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult PlaceAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t op,
                                int64_t instance, std::optional<int64_t> result, int64_t bytes,
                                int64_t offset) {
  if (std::min({op, instance, result.value_or(0), bytes, offset}) < 0)
    return emitError() << "a place has numbers of 0 or more, as in #llm.place<op = 3, instance = "
                          "0, result = 0, bytes = 2048, offset = 4096>";
  return success();
}

//===----------------------------------------------------------------------===//
// What annotations hold
//===----------------------------------------------------------------------===//

/// Blocks index tables of the reports.
static constexpr int64_t mostBlocks = 1 << 20;

/// Returns whether all elements of an array are such attributes.
template <typename... Attributes>
static bool areAll(Attribute attribute) {
  auto array = dyn_cast<ArrayAttr>(attribute);
  return array && llvm::all_of(array, llvm::IsaPred<Attributes...>);
}

bool annotation::isRole(Operation *, Attribute attribute) {
  auto text = dyn_cast<StringAttr>(attribute);
  return text && symbolizeRole(text.getValue());
}

bool annotation::isPhase(Operation *, Attribute attribute) {
  auto text = dyn_cast<StringAttr>(attribute);
  return text && symbolizePhase(text.getValue());
}

bool annotation::areDecisions(Operation *, Attribute attribute) {
  return areAll<StringAttr>(attribute) &&
         llvm::all_of(cast<ArrayAttr>(attribute).getAsRange<StringAttr>(), [](StringAttr text) {
           return symbolizeDecision(text.getValue()).has_value();
         });
}

bool annotation::isCostSource(Operation *, Attribute attribute) {
  auto text = dyn_cast<StringAttr>(attribute);
  return text && symbolizeCostSource(text.getValue());
}

bool annotation::isText(Operation *, Attribute attribute) { return isa<StringAttr>(attribute); }

bool annotation::areTexts(Operation *, Attribute attribute) {
  return areAll<StringAttr>(attribute);
}

/// It must have 64 bits, because readers would take the lower bits of a wider one.
bool annotation::isNumber(Operation *, Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && !isa<BoolAttr>(attribute) && number.getValue().isSignedIntN(64) &&
         !(number.getType().isUnsignedInteger() && number.getValue().isNegative());
}

bool annotation::isBlock(Operation *, Attribute attribute) {
  auto block = dyn_cast<IntegerAttr>(attribute);
  return block && block.getType().isSignlessInteger(64) && block.getInt() >= 0 &&
         block.getInt() < mostBlocks;
}

bool annotation::isLibraryWorkspace(Operation *op, Attribute attribute) {
  auto bytes = dyn_cast<IntegerAttr>(attribute);
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!bytes || !cost)
    return false;
  // A library that sums over ranks has memory of its own.
  if (isa<AllReduceBucketOp, AllReduceOp, ReduceOp, ReduceScatterBucketOp, ReduceScatterOp>(op))
    return bytes.getInt() == 0;
  return bytes.getInt() > 0 && bytes.getInt() % kArenaAlignment == 0 && cost.multipliesMatrices();
}

bool annotation::areNumbers(Operation *, Attribute attribute) {
  return isa<DenseI64ArrayAttr>(attribute);
}

/// Returns whether the numbers are those of operands of `op`, or from `least` on.
static bool areOperands(Operation *op, ArrayRef<int64_t> numbers, int64_t least) {
  return llvm::all_of(numbers, [&](int64_t number) {
    return number >= least && number < static_cast<int64_t>(op->getNumOperands());
  });
}

bool annotation::areViews(Operation *op, Attribute attribute) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
  return numbers && numbers.size() == static_cast<int64_t>(op->getNumResults()) &&
         areOperands(op, numbers, /*least=*/-1);
}

bool annotation::areOperandLists(Operation *op, Attribute attribute) {
  if (!areAll<DenseI64ArrayAttr>(attribute))
    return false;
  auto lists = cast<ArrayAttr>(attribute);
  return lists.size() == op->getNumResults() &&
         llvm::all_of(lists.getAsRange<DenseI64ArrayAttr>(),
                      [&](DenseI64ArrayAttr list) { return areOperands(op, list, /*least=*/0); });
}

bool annotation::isResident(Operation *op, Attribute attribute) {
  return isa<UnitAttr>(attribute) && op->getNumOperands() == 0;
}

bool annotation::isReal(Operation *, Attribute attribute) { return isa<FloatAttr>(attribute); }

bool annotation::isFlag(Operation *, Attribute attribute) { return isa<UnitAttr>(attribute); }

/// Loops are what started collectives are lowered to.
bool annotation::isStart(Operation *op, Attribute attribute) {
  bool isOurs = isa_and_nonnull<LlmDialect>(op->getDialect());
  return isa<UnitAttr>(attribute) && (!isOurs || (op->hasTrait<Startable>() && !isViewOp(op)));
}

bool annotation::isDictionary(Operation *, Attribute attribute) {
  return isa<DictionaryAttr>(attribute);
}

bool annotation::areDictionaries(Operation *, Attribute attribute) {
  return areAll<DictionaryAttr>(attribute);
}

bool annotation::areSymbols(Operation *, Attribute attribute) {
  return areAll<SymbolRefAttr>(attribute);
}

bool annotation::areLocations(Operation *, Attribute attribute) {
  return isa<ArrayAttr>(attribute) && llvm::all_of(cast<ArrayAttr>(attribute), [](Attribute entry) {
           return isa<LocationAttr>(entry);
         });
}

bool annotation::arePlaces(Operation *, Attribute attribute) {
  return areAll<PlaceAttr>(attribute);
}

bool annotation::isCost(Operation *, Attribute attribute) { return isa<CostAttr>(attribute); }

bool annotation::isTensorType(Operation *, Attribute attribute) {
  auto type = dyn_cast<TypeAttr>(attribute);
  auto tensor = type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
  return tensor && tensor.hasStaticShape() && bytesOfType(tensor) >= 0;
}

bool annotation::isTraining(Operation *, Attribute attribute) {
  return isa<TrainingAttr>(attribute);
}

bool annotation::isDataParallel(Operation *, Attribute attribute) {
  return isa<DataParallelAttr>(attribute);
}

bool annotation::isSharding(Operation *, Attribute attribute) {
  return isa<ShardingAttr>(attribute);
}

bool annotation::isMesh(Operation *, Attribute attribute) { return isa<MeshAttr>(attribute); }

//===----------------------------------------------------------------------===//
// Where they stand
//===----------------------------------------------------------------------===//

static bool maySitOnArgument(AnnotationPlace place) {
  return place == AnnotationPlace::Argument || place == AnnotationPlace::ArgumentOrOp;
}

static bool mayStandOn(Operation *op, AnnotationPlace place) {
  if (isa<ModuleOp>(op))
    return place == AnnotationPlace::Module;
  if (isa<FunctionOpInterface>(op))
    return place == AnnotationPlace::Function;
  return place == AnnotationPlace::Op || place == AnnotationPlace::ArgumentOrOp;
}

static StringRef wordsOf(AnnotationPlace place) {
  switch (place) {
  case AnnotationPlace::Argument:
    return "an argument of a function";
  case AnnotationPlace::Op:
    return "an op";
  case AnnotationPlace::ArgumentOrOp:
    return "an argument of a function or an op";
  case AnnotationPlace::Function:
    return "a function";
  case AnnotationPlace::Module:
    return "a module";
  }
  llvm_unreachable("all places are listed");
}

/// Fails for a name that no annotation has, with the nearest one and the list of all.
static LogicalResult refuseUnknown(Operation *op, StringRef name) {
  ArrayRef<Annotation> all = LlmDialect::getAnnotations();
  const Annotation &nearest =
      *llvm::min_element(all, [&](const Annotation &a, const Annotation &b) {
        return name.edit_distance(a.name) < name.edit_distance(b.name);
      });
  InFlightDiagnostic error = op->emitError()
                             << "'" << name << "' is no attribute of this dialect; did you mean '"
                             << nearest.name << "'?";
  error.attachNote() << "the dialect has "
                     << llvm::join(llvm::map_range(all, [](const Annotation &a) { return a.name; }),
                                   ", ");
  return error;
}

static LogicalResult verifyAnnotation(Operation *op, NamedAttribute attribute, StringRef where,
                                      llvm::function_ref<bool(AnnotationPlace)> mayStand) {
  StringRef name = attribute.getName().getValue();
  ArrayRef<Annotation> all = LlmDialect::getAnnotations();
  const Annotation *entry =
      llvm::find_if(all, [&](const Annotation &known) { return known.name == name; });
  if (entry == all.end())
    return refuseUnknown(op, name);
  if (!mayStand(entry->place))
    return op->emitError() << "'" << name << "' stands on " << where << ", expected on "
                           << wordsOf(entry->place);
  if (!entry->holds(op, attribute.getValue()))
    return op->emitError() << "'" << name << "' is " << attribute.getValue() << ", expected "
                           << entry->expected;
  return success();
}

LogicalResult LlmDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  std::string where = ("'" + op->getName().getStringRef() + "'").str();
  return verifyAnnotation(op, attribute, where,
                          [&](AnnotationPlace place) { return mayStandOn(op, place); });
}

LogicalResult LlmDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                   NamedAttribute attribute) {
  return verifyAnnotation(op, attribute, "an argument", maySitOnArgument);
}

LogicalResult LlmDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                      NamedAttribute attribute) {
  return verifyAnnotation(op, attribute, "a result", [](AnnotationPlace) { return false; });
}
