//===- KernelKind.cpp - The name of an op's kernel -------------------------===//

#include "llmmem/Interfaces/KernelKind.h"
#include "llmmem/Interfaces/GroupableOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace llmmem;

/// The number of a random stream is an argument of the kernel, so that layers share theirs.
static constexpr StringLiteral kStream = "key";

std::string llmmem::kernelKind(Operation *op) {
  std::string kind;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator())
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

/// What is inherent; without a stream.
static void printAttributes(llvm::raw_ostream &os, Operation *op) {
  auto properties = dyn_cast_if_present<DictionaryAttr>(op->getPropertiesAsAttribute());
  if (!properties)
    return;
  NamedAttrList kept(properties);
  kept.erase(kStream);
  if (!kept.empty())
    os << " " << kept.getDictionary(op->getContext());
}

/// The ops of a group with the numbers of what they read: operands first, then results in order.
static void printBody(llvm::raw_ostream &os, Block &body) {
  llvm::DenseMap<Value, size_t> numbers;
  auto number = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  llvm::for_each(body.getArguments(), number);
  llvm::StringRef before = " [";
  for (Operation &inner : body.without_terminator()) {
    os << before << inner.getName().stripDialect();
    for (Value operand : inner.getOperands())
      os << " " << number(operand);
    printAttributes(os, &inner);
    llvm::for_each(inner.getResults(), number);
    before = "; ";
  }
  os << "]";
}

std::string llmmem::kernelKey(Operation *op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << kernelKind(op) << "(";
  printTypes(os, op->getOperandTypes());
  os << ") -> ";
  printTypes(os, op->getResultTypes());
  printAttributes(os, op);
  for (Region &region : op->getRegions())
    printBody(os, region.front());
  return key;
}

Operation *llmmem::productIn(Operation *op) {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      if (auto groupable = dyn_cast<GroupableOpInterface>(inner);
          groupable && groupable.getTraversal() == Traversal::Product)
        return &inner;
  return nullptr;
}
