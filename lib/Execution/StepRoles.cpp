//===- StepRoles.cpp - What the buffers of a training step are -------------===//

#include "llmmem/Execution/StepRoles.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// The argument that `value` is, is a view of or may be in place of, and that satisfies `accept`.
static std::optional<unsigned> sourceArgument(Value value, function_ref<bool(unsigned)> accept) {
  if (!value)
    return std::nullopt;
  value = llm::copiedFrom(value); // state may lie on the host
  if (auto argument = dyn_cast<BlockArgument>(value))
    return accept(argument.getArgNumber()) ? std::optional<unsigned>(argument.getArgNumber())
                                           : std::nullopt;
  auto result = cast<OpResult>(value);
  auto buffers = dyn_cast<BufferOpInterface>(result.getOwner());
  if (!buffers)
    return std::nullopt;
  SmallVector<unsigned> sources = buffers.getInPlaceOperands(result.getResultNumber());
  if (std::optional<unsigned> viewed = viewedOperand(result))
    sources.push_back(*viewed);
  for (unsigned operand : sources)
    if (std::optional<unsigned> found =
            sourceArgument(result.getOwner()->getOperand(operand), accept))
      return found;
  return std::nullopt;
}

namespace {
class RoleFinder {
public:
  explicit RoleFinder(func::FuncOp step) : step(step) {}

  llvm::Expected<StepRoles> find() {
    for (unsigned number = 0; number < step.getNumArguments(); ++number)
      if (llvm::Error error = classify(number))
        return std::move(error);
    findScales();
    if (llvm::none_of(functionsOfStep(), readsIds))
      return llvm::createStringError("'" + step.getName() +
                                     "' has no input named 'ids' to feed tokens to");
    // Of the stages of a pipeline the first looks them up, and the last has targets.
    for (func::FuncOp function : functionsOfStep())
      findVocabulary(function);
    if (roles.vocabulary == 0)
      return llvm::createStringError("'" + step.getName() +
                                     "' has no table for 'ids': no llm.embedding reads them");
    // Of a step of micro-batches, @update has the updates, on the same arguments.
    for (func::FuncOp function : functionsWithUpdates())
      function.walk([&](UpdateOpInterface op) {
        connect(op.getUpdatedParam(), op.getUpdatingGradient(), op.getMasterCopy());
      });
    return roles;
  }

private:
  static bool readsIds(func::FuncOp function) {
    return llvm::any_of(function.getArguments(),
                        [](BlockArgument argument) { return getName(argument) == "ids"; });
  }

  SmallVector<func::FuncOp> functionsOfStep() {
    auto module = step->getParentOfType<ModuleOp>();
    return step->hasAttr(LlmDialect::kMicroBatches) && module ? findStepFunctions(module)
                                                              : SmallVector<func::FuncOp>{step};
  }

  SmallVector<func::FuncOp> functionsWithUpdates() {
    return step->hasAttr(LlmDialect::kStage) ? SmallVector<func::FuncOp>{step} : functionsOfStep();
  }

  void findVocabulary(func::FuncOp function) {
    function.walk([&](llm::EmbeddingOp op) {
      auto rows = op.getIds().getDefiningOp<llm::MicroBatchOp>();
      auto ids = dyn_cast<BlockArgument>(rows ? rows.getX() : op.getIds());
      if (ids && getName(ids) == "ids")
        roles.vocabulary = op.getVocabulary() ? op.getVocabulary()->getSize()
                                              : op.getTable().getType().getDimSize(0);
    });
  }

  std::string text(unsigned number, StringRef attribute) {
    auto value = step.getArgAttrOfType<StringAttr>(number, attribute);
    return value ? value.str() : "";
  }

  llvm::Error classify(unsigned number) {
    std::optional<llm::Role> role = llm::readRole(step, number);
    std::string name = text(number, LlmDialect::kName);
    if (role == llm::Role::Param)
      roles.parameters.push_back({name, number, std::nullopt, std::nullopt,
                                  step.getArgAttr(number, LlmDialect::kFrozen) != nullptr});
    else if (role == llm::Role::Gradient)
      roles.gradients.push_back(number);
    else if (role == llm::Role::Seed)
      roles.seed = number;
    else if (role == llm::Role::Input)
      return classifyInput(number, name);
    else if (role == llm::Role::OptimizerState)
      roles.states.push_back(number);
    else if (role == llm::Role::KvCache)
      roles.caches.push_back(number);
    else
      return llvm::createStringError("argument " + llvm::Twine(number) + " of '" + step.getName() +
                                     "' has the role '" + (role ? llm::stringifyRole(*role) : "") +
                                     "', which llmmem-run cannot fill");
    return llvm::Error::success();
  }

  llvm::Error classifyInput(unsigned number, StringRef name) {
    std::pair<StringRef, std::optional<unsigned> *> inputs[] = {
        {"ids", &roles.ids},
        {"targets", &roles.targets},
        {"labels", &roles.labels},
        {"positions", &roles.positions},
        {"learning_rate", &roles.learningRate},
        {"step", &roles.step},
        {"micro_batch", &roles.microBatch},
        {"lengths", &roles.lengths},
        {"counts", &roles.counts},
        {"pages", &roles.pages}};
    for (auto [known, place] : inputs)
      if (name == known) {
        *place = number;
        return llvm::Error::success();
      }
    return llvm::createStringError(
        "argument " + llvm::Twine(number) + " of '" + step.getName() + "' is an input named '" +
        name +
        "'; known are ids, targets, labels, positions, learning_rate, step, "
        "micro_batch, lengths, counts and pages");
  }

  /// Scales and zero points belong to what they are of, and are no parameters of their own.
  void findScales() {
    auto argumentOf = [&](const Twine &name) -> std::optional<unsigned> {
      auto *it = llvm::find_if(roles.parameters, [name = name.str()](const auto &parameter) {
        return parameter.name == name;
      });
      return it == roles.parameters.end() ? std::nullopt : std::optional<unsigned>(it->argument);
    };
    for (StepRoles::Parameter &parameter : roles.parameters)
      if (llm::isPacked(getElementTypeOrSelf(step.getArgument(parameter.argument)))) {
        parameter.scales = argumentOf(parameter.name + llm::kScalesSuffix);
        parameter.zeros = argumentOf(parameter.name + llm::kZerosSuffix);
      }
    llvm::erase_if(roles.parameters, [&](const StepRoles::Parameter &parameter) {
      return llm::isBesideHeld(step.getArgument(parameter.argument));
    });
  }

  /// One update: which master and which gradient belong to a parameter.
  void connect(Value param, Value gradient, Value master) {
    auto isAny = [](unsigned) { return true; };
    auto isGradient = [&](unsigned number) { return llvm::is_contained(roles.gradients, number); };
    std::optional<unsigned> argument = sourceArgument(param, isAny);
    for (StepRoles::Parameter &known : roles.parameters) {
      if (argument != known.argument)
        continue;
      known.master = sourceArgument(master, isAny);
      known.gradient = sourceArgument(gradient, isGradient);
    }
  }

  func::FuncOp step;
  StepRoles roles;
};
} // namespace

llvm::Expected<StepRoles> StepRoles::find(func::FuncOp step) { return RoleFinder(step).find(); }
