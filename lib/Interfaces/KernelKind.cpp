//===- KernelKind.cpp - When two ops have the same kernel ------------------===//

#include "llmmem/Interfaces/KernelKind.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/GroupableOpInterface.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace llmmem;

/// Returns the op in a group with the traversal, or null.
static Operation *findIn(Operation *op, Traversal traversal) {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (auto groupable = dyn_cast<GroupableOpInterface>(inner);
          groupable && groupable.getTraversal() == traversal)
        return &inner;
  return nullptr;
}

Operation *llmmem::matmulIn(Operation *op) { return findIn(op, Traversal::Matmul); }

Operation *llmmem::attentionIn(Operation *op) { return findIn(op, Traversal::Attention); }

std::string llmmem::kernelKind(Operation *op) {
  if (Operation *attention = attentionIn(op))
    return kernelKind(attention);
  std::string kind;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (!inner.hasTrait<OpTrait::IsTerminator>())
        kind += (kind.empty() ? "" : "+") + inner.getName().stripDialect().str();
  return kind.empty() ? op->getName().stripDialect().str() : kind;
}

static void printType(llvm::raw_ostream &os, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    os << type;
    return;
  }
  for (int64_t extent : tensor.getShape())
    os << extent << "x";
  os << tensor.getElementType();
}

static void printTypes(llvm::raw_ostream &os, TypeRange types) {
  for (auto begin = types.begin(); begin != types.end();) {
    auto end = std::find_if(begin, types.end(), [&](Type type) { return type != *begin; });
    os << (begin == types.begin() ? "" : ", ");
    printType(os, *begin);
    if (int64_t count = std::distance(begin, end); count > 1)
      os << " * " << count;
    begin = end;
  }
}

/// Prints no attribute that says which optional operands there are: their types do, and an op that
/// gains one keeps the prices that were measured without.
static void printAttributes(llvm::raw_ostream &os, DictionaryAttr attributes) {
  NamedAttrList printed(attributes);
  printed.erase("operandSegmentSizes");
  if (!printed.empty())
    os << " " << printed.getDictionary(attributes.getContext());
}

//===----------------------------------------------------------------------===//
// Identity
//===----------------------------------------------------------------------===//

KernelIdentity::Part KernelIdentity::partOf(Operation *op) {
  auto properties = dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute());
  NamedAttrList attributes(properties);
  if (auto random = dyn_cast<RandomOpInterface>(op))
    attributes.erase(random.getStreamAttrName());
  MLIRContext *context = op->getContext();
  return {op->getName(),
          attributes.getDictionary(context),
          FunctionType::get(context, op->getOperandTypes(), op->getResultTypes()),
          {}};
}

KernelIdentity KernelIdentity::of(Operation *op) {
  KernelIdentity identity(partOf(op));
  identity.kind = kernelKind(op);
  auto cost = dyn_cast<CostOpInterface>(op);
  identity.workspaceBytes = cost ? cost.getWorkspaceBytes() : 0;
  identity.isForLibrary = cost && cost.getLibraryWorkspaceBytes() > 0;
  llvm::DenseMap<Value, int64_t> numbers;
  auto number = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (Region &region : op->getRegions()) {
    for (Block &block : region) {
      llvm::for_each(block.getArguments(), number);
      for (Operation &inner : block) {
        identity.body.push_back(partOf(&inner));
        identity.body.back().reads = llvm::map_to_vector(inner.getOperands(), number);
        llvm::for_each(inner.getResults(), number);
      }
    }
    for (Value result : op->getResults())
      identity.isRead.push_back(!result.use_empty());
  }
  return identity;
}

Attribute KernelIdentity::keyOf(const Part &part) {
  MLIRContext *context = part.types.getContext();
  return ArrayAttr::get(context,
                        {part.name.getIdentifier(), part.attributes, TypeAttr::get(part.types),
                         DenseI64ArrayAttr::get(context, part.reads)});
}

Attribute KernelIdentity::codeKey() const {
  Builder builder(whole.types.getContext());
  SmallVector<Attribute> key = {keyOf(whole), builder.getI64IntegerAttr(workspaceBytes),
                                builder.getBoolAttr(isForLibrary)};
  for (const Part &part : body)
    key.push_back(keyOf(part));
  if (isGroup())
    key.push_back(builder.getDenseBoolArrayAttr(isRead));
  return builder.getArrayAttr(key);
}

std::string KernelIdentity::priceKey() const {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << kind << "(";
  printTypes(os, whole.types.getInputs());
  os << ") -> ";
  printTypes(os, whole.types.getResults());
  printAttributes(os, whole.attributes);
  StringRef before = " [";
  for (const Part &part : ArrayRef(body).drop_back(isGroup())) {
    os << before << part.name.stripDialect();
    for (int64_t number : part.reads)
      os << " " << number;
    printAttributes(os, part.attributes);
    before = "; ";
  }
  if (isGroup())
    os << "]";
  return key;
}

std::string llmmem::kernelKey(Operation *op) {
  Operation *attention = attentionIn(op);
  return KernelIdentity::of(attention ? attention : op).priceKey();
}
