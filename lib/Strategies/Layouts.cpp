//===- Layouts.cpp - Which parameters are split over tp, by groups ---------===//

#include "llmmem/Strategies/Layouts.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Interfaces/ShardingOpInterface.h"
#include "llmmem/Transforms/Parallelize.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Returns the place of each parameter that some op reads.
static llvm::MapVector<BlockArgument, std::string> placesOf(func::FuncOp loss) {
  llvm::MapVector<BlockArgument, std::string> places;
  std::optional<int64_t> block;
  int64_t number = 0;
  for (Operation &op : loss.getBody().front().without_terminator()) {
    number = getBlock(&op) == block ? number + 1 : 0;
    block = getBlock(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand.get());
      if (!argument || getRole(argument) != llm::Role::Param)
        continue;
      std::string place = block ? "op " + std::to_string(number) + " of a block, operand " +
                                      std::to_string(operand.getOperandNumber())
                                : getName(argument);
      places.insert({argument, place});
    }
  }
  return places;
}

/// Returns the dimension of each parameter that `parallelize` splits, by name.
static llvm::StringMap<unsigned> splitDimensions(ModuleOp model, int64_t ranks) {
  llvm::StringMap<unsigned> split;
  OwningOpRef<ModuleOp> copy = model.clone();
  auto loss = copy->lookupSymbol<func::FuncOp>("loss");
  llm::MeshAttr mesh = makeMesh({{kTensorParallelAxis.str(), ranks}}, model.getContext());
  ScopedDiagnosticHandler quiet(model.getContext(), [](Diagnostic &) { return success(); });
  if (failed(parallelize(loss, mesh, {})))
    return split;
  for (BlockArgument argument : loss.getArguments())
    if (auto sharding = loss.getArgAttrOfType<llm::ShardingAttr>(argument.getArgNumber(),
                                                                 LlmDialect::kSharding))
      for (auto [number, axes] : llvm::enumerate(sharding.getDimensions()))
        if (!cast<ArrayAttr>(axes).empty())
          split[getName(argument)] = number;
  return split;
}

namespace {
/// Joins parameters whose ops pass parts to each other.
class Grouping {
public:
  Grouping(func::FuncOp loss, const llvm::StringMap<unsigned> &split) : split(split) {
    for (Operation &op : loss.getBody().front().without_terminator())
      visit(&op);
  }
  std::vector<LayoutGroup> take(func::FuncOp loss) const;

private:
  bool isSplit(Value value) const {
    return isa<BlockArgument>(value) && split.contains(getName(value));
  }
  static unsigned numberOf(Value parameter) {
    return cast<BlockArgument>(parameter).getArgNumber();
  }
  void visit(Operation *op);
  void follow(Operation *op, Value parameter);

  const llvm::StringMap<unsigned> &split;
  llvm::EquivalenceClasses<unsigned> groups; // Classes of argument numbers.
};
} // namespace

/// Follows what runs on the parts that `op` gives, up to the next op that reads a split parameter.
void Grouping::follow(Operation *op, Value parameter) {
  llvm::SetVector<Operation *> reached;
  reached.insert_range(op->getUsers());
  for (size_t next = 0; next < reached.size(); ++next) {
    bool ends = false;
    for (Value operand : reached[next]->getOperands())
      if (isSplit(operand)) {
        groups.unionSets(numberOf(parameter), numberOf(operand));
        ends = true;
      }
    if (!ends)
      reached.insert_range(reached[next]->getUsers());
  }
}

void Grouping::visit(Operation *op) {
  Value first;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isSplit(operand.get()))
      continue;
    groups.insert(numberOf(operand.get()));
    if (first)
      groups.unionSets(numberOf(first), numberOf(operand.get()));
    first = operand.get();
    FailureOr<ShardingRule> rule = ShardingRule::of(op);
    if (failed(rule))
      continue;
    unsigned dimension = split.lookup(getName(operand.get()));
    // Results that have the factor are parts; otherwise the op sums them up.
    if (rule->isInResults(rule->operands[operand.getOperandNumber()][dimension].factors.front()))
      follow(op, operand.get());
  }
}

/// Returns the groups in the order of the arguments; blocks after the first add nothing.
std::vector<LayoutGroup> Grouping::take(func::FuncOp loss) const {
  std::vector<LayoutGroup> found;
  for (auto &[argument, place] : placesOf(loss)) {
    if (!isSplit(argument))
      continue;
    auto known =
        llvm::find_if(found, [&](const LayoutGroup &group) { return group.places.count(place); });
    if (known != found.end())
      continue;
    unsigned leader = groups.getLeaderValue(numberOf(argument));
    auto own = llvm::find_if(found, [&](const LayoutGroup &group) {
      return llvm::any_of(loss.getArguments(), [&](BlockArgument other) {
        return isSplit(other) && llvm::is_contained(group.names, getName(other)) &&
               groups.getLeaderValue(numberOf(other)) == leader;
      });
    });
    LayoutGroup &group = own == found.end() ? found.emplace_back() : *own;
    group.names.push_back(getName(argument));
    group.places.insert(place);
  }
  return found;
}

std::vector<LayoutGroup> llmmem::findLayoutGroups(ModuleOp model, int64_t ranks) {
  auto loss = model.lookupSymbol<func::FuncOp>("loss");
  llvm::StringMap<unsigned> split = splitDimensions(model, ranks);
  return Grouping(loss, split).take(loss);
}

void llmmem::keepWhole(func::FuncOp loss, ArrayRef<LayoutGroup> groups, uint32_t whole) {
  if (whole == 0)
    return;
  Builder builder(loss.getContext());
  for (auto &[argument, place] : placesOf(loss))
    for (auto [number, group] : llvm::enumerate(groups))
      if ((whole >> number & 1) && group.places.count(place)) {
        int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
        SmallVector<Attribute> dimensions(rank, builder.getArrayAttr({}));
        loss.setArgAttr(argument.getArgNumber(), LlmDialect::kSharding,
                        llm::ShardingAttr::get(loss.getContext(), builder.getArrayAttr(dimensions),
                                               ArrayAttr()));
      }
}
