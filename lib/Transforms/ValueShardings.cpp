//===- ValueShardings.cpp - How the values of a forward are split ----------===//

#include "ValueShardings.h"
#include "llmmem/Analysis/OpFacts.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

ValueShardings::ValueShardings(func::FuncOp function)
    : mesh(function->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh)) {}

ValueSharding ValueShardings::of(Value value) const {
  auto found = known.find(value);
  return found != known.end() ? found->second
                              : ValueSharding{Sharding::whole(value.getType()), {}, {}};
}

SmallVector<ValueSharding> ValueShardings::ofOperands(Operation *op) const {
  return llvm::map_to_vector(op->getOperands(), [&](Value operand) { return of(operand); });
}

ArrayAttr ValueShardings::arrayOf(ArrayRef<StringAttr> axes) const {
  SmallVector<Attribute> ordered;
  for (StringAttr axis : mesh.getNames())
    if (llvm::is_contained(axes, axis))
      ordered.push_back(axis);
  return ArrayAttr::get(mesh.getContext(), ordered);
}

int64_t ValueShardings::ranksOf(ArrayRef<StringAttr> axes) const {
  return mesh.getGroupSize(arrayOf(axes));
}

llm::ShardingAttr ValueShardings::attributeOf(const Sharding &sharding) const {
  SmallVector<Attribute> dimensions, pieces;
  bool hasPieces = false;
  for (const DimensionSharding &split : sharding.dimensions) {
    dimensions.push_back(arrayOf(split.axes));
    pieces.push_back(DenseI64ArrayAttr::get(mesh.getContext(), split.pieces));
    hasPieces |= !split.pieces.empty();
  }
  MLIRContext *context = mesh.getContext();
  return llm::ShardingAttr::get(context, ArrayAttr::get(context, dimensions),
                                hasPieces ? ArrayAttr::get(context, pieces) : ArrayAttr());
}

FailureOr<Sharding> ValueShardings::read(llm::ShardingAttr attribute, Value value) const {
  Sharding sharding = Sharding::whole(value.getType());
  auto refuse = [&] {
    return emitError(value.getLoc())
           << "'" << getName(value) << "' is given the sharding " << attribute << ", ";
  };
  if (attribute.getRank() != sharding.dimensions.size())
    return refuse() << "expected one of " << sharding.dimensions.size() << " dimensions";
  Axes seen;
  for (auto [number, split] : llvm::enumerate(sharding.dimensions)) {
    for (auto axis : attribute.getAxes(number).getAsRange<StringAttr>()) {
      if (!mesh.findAxis(axis.getValue()) || llvm::is_contained(seen, axis))
        return refuse() << "expected axes of " << mesh << ", each once";
      seen.push_back(axis);
      split.axes.push_back(axis);
    }
    llvm::append_range(split.pieces, attribute.getPiecesOf(number));
    if (split.axes.empty())
      split.pieces.clear();
    int64_t sum = 0, size = sharding.wholeSizes[number];
    for (int64_t piece : split.pieces)
      sum += piece;
    if (!split.pieces.empty() && sum != size)
      return refuse() << "whose pieces of dimension " << number << " have " << sum
                      << " together, expected " << size;
  }
  return sharding;
}

std::string llmmem::nameAxes(ArrayRef<StringAttr> axes) {
  return llvm::join(llvm::map_range(axes, [](StringAttr axis) { return axis.str(); }), " x ");
}

std::string llmmem::spellAxes(ArrayRef<StringAttr> axes, int64_t ranks) {
  return nameAxes(axes) + " = " + std::to_string(ranks);
}

LogicalResult ValueShardings::set(Value value, ValueSharding state) {
  for (Axes *axes : {&state.own, &state.shared})
    llvm::erase_if(*axes, [&](StringAttr axis) { return state.isSplitOver(axis); });
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type) {
    known[value] = state;
    return success();
  }
  SmallVector<int64_t> shape(state.sharding.wholeSizes);
  for (auto [number, split] : llvm::enumerate(state.sharding.dimensions)) {
    if (split.isWhole())
      continue;
    int64_t ranks = ranksOf(split.axes);
    bool divides = shape[number] % ranks == 0;
    for (int64_t piece : split.pieces)
      divides &= piece % ranks == 0;
    if (!divides && !split.padded)
      return emitError(value.getLoc())
             << "'" << getName(value) << "' has " << shape[number] << " in dimension " << number
             << ", which does not divide over " << spellAxes(split.axes, ranks)
             << "; take a number of ranks that divides it";
    shape[number] = llvm::divideCeil(shape[number], ranks);
  }
  value.setType(type.clone(shape));
  known[value] = state;
  return success();
}
