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

/// Returns the argument that `value` is, is a view of or may be in place of, and that satisfies
/// `accept`.
static std::optional<unsigned> sourceArgument(Value value, function_ref<bool(unsigned)> accept) {
  if (!value)
    return std::nullopt;
  value = llm::copiedFrom(value);                     // State may lie on the host.
  if (auto part = value.getDefiningOp<llm::PartOp>()) // ZeRO updates a part of a whole parameter.
    return sourceArgument(part.getX(), accept);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return accept(argument.getArgNumber()) ? std::optional<unsigned>(argument.getArgNumber())
                                           : std::nullopt;
  auto result = cast<OpResult>(value);
  SmallVector<unsigned> sources = inPlaceOperands(result);
  if (std::optional<unsigned> viewed = viewedOperand(result))
    sources.push_back(*viewed);
  for (unsigned operand : sources)
    if (std::optional<unsigned> found =
            sourceArgument(result.getOwner()->getOperand(operand), accept))
      return found;
  return std::nullopt;
}

/// Returns the argument that `value`, the new parameter of an update on the host, replaces,
/// possibly through waits, copies and gathers of parts; none for other values.
static std::optional<unsigned> replacedArgument(Value value) {
  if (!llm::runsOnHost(value.getDefiningOp()))
    return std::nullopt;
  SmallVector<Value> reached = {value};
  for (size_t next = 0; next < reached.size(); ++next)
    for (OpOperand &use : reached[next].getUses()) {
      Operation *user = use.getOwner();
      bool passesOn =
          isa<llm::WaitOp, llm::AllGatherOp, llm::AllGatherBucketOp>(user) || llm::isHostCopy(user);
      if (passesOn && use.getOperandNumber() < user->getNumResults()) // It is not a destination.
        reached.push_back(user->getResult(use.getOperandNumber()));
      auto returned = dyn_cast<func::ReturnOp>(user);
      auto step = returned ? returned->getParentOfType<func::FuncOp>() : func::FuncOp();
      for (unsigned number = 0; step && number < step.getNumArguments(); ++number)
        if (auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated);
            donated && donated.getInt() == use.getOperandNumber())
          return number;
    }
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
    if (llvm::Error error = findData())
      return std::move(error);
    // For a step of micro-batches, @update has the updates, on the same arguments.
    for (func::FuncOp function : functionsWithUpdates())
      function.walk([&](UpdateOpInterface op) {
        connect(op.getUpdatedParam(), op.getUpdatingGradient(), op.getMasterCopy(),
                replacedArgument(op->getResult(0)));
      });
    return roles;
  }

private:
  static bool reads(func::FuncOp function, StringRef name) {
    return llvm::any_of(function.getArguments(),
                        [&](BlockArgument argument) { return getName(argument) == name; });
  }

  /// Among the stages of a pipeline the first reads ids or images, and the last has what is
  /// predicted.
  llvm::Error findData() {
    auto anyReads = [&](StringRef name) {
      return llvm::any_of(functionsOfStep(),
                          [&](func::FuncOp function) { return reads(function, name); });
    };
    for (func::FuncOp function : functionsOfStep()) {
      findVocabulary(function);
      findClasses<llm::CrossEntropyOp>(function);
      findClasses<llm::TargetLossOp>(function);
    }
    if (anyReads("pixels"))
      return llvm::Error::success();
    if (!anyReads("ids"))
      return llvm::createStringError("'" + step.getName() +
                                     "' has no input named 'ids' or 'pixels' to feed data to");
    if (roles.vocabulary == 0)
      return llvm::createStringError("'" + step.getName() +
                                     "' has no table for 'ids': no llm.embedding reads them");
    return llvm::Error::success();
  }

  /// Returns whether `value` is the input of this name, or the rows of it that a micro-batch reads.
  static bool isInput(Value value, StringRef name) {
    auto rows = value.getDefiningOp<llm::MicroBatchOp>();
    auto argument = dyn_cast<BlockArgument>(rows ? rows.getX() : value);
    return argument && getName(argument) == name;
  }

  template <typename LossOp>
  void findClasses(func::FuncOp function) {
    function.walk([&](LossOp op) {
      if (!isInput(op.getTargets(), "labels"))
        return;
      roles.classes = op.getLogits().getType().getShape().back();
      if constexpr (requires { op.getVocabulary(); })
        if (std::optional<llm::VocabularyAttr> whole = op.getVocabulary())
          roles.classes = whole->getSize();
    });
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
      if (isInput(op.getIds(), "ids"))
        roles.vocabulary = op.getVocabulary() ? op.getVocabulary()->getSize()
                                              : op.getTable().getType().getDimSize(0);
    });
    // What a decoder predicts is a sequence of its own.
    function.walk([&](llm::ShiftTokensOp op) {
      if (isInput(op.getLabels(), "labels"))
        roles.labelSeq = op.getLabels().getType().getDimSize(1);
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
        {"pixels", &roles.pixels},
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
        "'; known are ids, pixels, targets, labels, positions, learning_rate, step, "
        "micro_batch, lengths, counts and pages");
  }

  /// Scales and zero points belong to their tensors, and are no parameters of their own.
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
      return llm::hasHeldParameter(step.getArgument(parameter.argument));
    });
  }

  /// Connects one update: it says which master and which gradient belong to a parameter. An update
  /// on the host may not read its parameter, which then is the one that it replaces.
  void connect(Value param, Value gradient, Value master, std::optional<unsigned> replaced) {
    auto isAny = [](unsigned) { return true; };
    auto isGradient = [&](unsigned number) { return llvm::is_contained(roles.gradients, number); };
    std::optional<unsigned> argument = replaced ? replaced : sourceArgument(param, isAny);
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

llvm::Error StepRoles::checkWritesText() const {
  if (!seed)
    return llvm::Error::success();
  return llvm::createStringError("it has a seed and drops out, which is for training alone; import "
                                 "it again with --mode forward, prefill or decode");
}

llvm::Expected<StepRoles> StepRoles::find(func::FuncOp step) { return RoleFinder(step).find(); }
