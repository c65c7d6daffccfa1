//===- DescribeBuffers.cpp - What the buffers of a step hold ---------------===//

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Bundle/Bundle.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/ModelBuffers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
namespace json = llvm::json;

/// Returns the runner's name of an element type; empty where it has none.
static StringRef nameOfType(Type element) {
  if (const llm::ElementTraits *traits = element.isF16() ? nullptr : llm::traitsOf(element))
    return traits->word;
  auto integer = dyn_cast<IntegerType>(element);
  switch (integer ? integer.getWidth() : 0) {
  case 8:
    return "i8";
  case 32:
    return "i32";
  case 64:
    return "i64";
  default:
    return "";
  }
}

static json::Object make(StringRef kind) { return json::Object{{"kind", kind}}; }

static json::Object makeNumber(double value) {
  return json::Object{{"kind", "number"}, {"value", value}};
}

namespace {
class BufferWriter {
public:
  BufferWriter(func::FuncOp step, const StepRoles &roles) : step(step), roles(roles) {}

  FailureOr<json::Array> write() {
    if (roles.ids == std::nullopt || roles.pixels || roles.labels || roles.positions ||
        roles.microBatch || !roles.caches.empty()) {
      step.emitError("has other inputs than ids and targets; a bundle feeds these alone");
      return failure();
    }
    findMakes();
    json::Array buffers;
    for (BlockArgument argument : step.getArguments())
      if (failed(addArgument(argument, buffers)))
        return failure();
    for (auto [number, type] : llvm::enumerate(step.getResultTypes()))
      if (!isDonated(number) &&
          failed(add(type, "result " + std::to_string(number), "result", make("result"), buffers)))
        return failure();
    return buffers;
  }

private:
  /// Finds the arguments that do not begin as zeros, or are written before each step.
  void findMakes() {
    for (const StepRoles::Parameter &parameter : roles.parameters) {
      auto type = cast<RankedTensorType>(step.getArgument(parameter.argument).getType());
      InitialSample sample = initialSampleOf(parameter.name, type);
      // It hashes the name alone; the runner adds its seed.
      uint64_t name = streamOf(0, parameter.name) ^ llmmem_sample_stream(0);
      json::Object how = makeNumber(sample.value);
      if (sample.isNormal) {
        how["kind"] = "normal";
        how["stream"] = llvm::utohexstr(name, /*LowerCase=*/true);
      }
      if (parameter.master)
        makes[*parameter.master] = how;
      makes[parameter.argument] = std::move(how);
    }
    for (unsigned gradient : roles.gradients)
      makes[gradient] = make("cleared");
    for (auto [argument, kind] : {std::pair(roles.ids, "ids"),
                                  {roles.targets, "targets"},
                                  {roles.learningRate, "learning_rate"},
                                  {roles.step, "step"},
                                  {roles.seed, "seed"}})
      if (argument)
        makes[*argument] = make(kind);
  }

  LogicalResult addArgument(BlockArgument argument, json::Array &buffers) {
    unsigned number = argument.getArgNumber();
    std::optional<llm::Role> role = llm::readRole(step, number);
    auto known = makes.find(number);
    auto initial = step.getArgAttrOfType<FloatAttr>(number, LlmDialect::kInitial);
    json::Object how = known != makes.end()
                           ? std::move(known->second)
                           : makeNumber(initial ? initial.getValueAsDouble() : 0.0);
    return add(argument.getType(), getName(argument),
               role ? std::string(llm::stringifyRole(*role)) : "", std::move(how), buffers);
  }

  LogicalResult add(Type tensor, std::string name, std::string role, json::Object how,
                    json::Array &buffers) {
    auto type = cast<RankedTensorType>(tensor);
    StringRef element = nameOfType(type.getElementType());
    if (element.empty()) {
      step.emitError("has elements of ")
          << type.getElementType() << " ('" << name
          << "'); a bundle has f32, bf16, f64 and integers of 8, 32 and 64 bits";
      return failure();
    }
    json::Object buffer{{"name", std::move(name)},
                        {"role", std::move(role)},
                        {"type", element},
                        {"elements", type.getNumElements()},
                        {"columns", type.getRank() > 0 ? type.getShape().back() : 1},
                        {"make", std::move(how)}};
    if (llm::isOnHost(type))
      buffer["on_host"] = true;
    buffers.push_back(std::move(buffer));
    return success();
  }

  bool isDonated(unsigned result) {
    for (unsigned number = 0; number < step.getNumArguments(); ++number)
      if (auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated))
        if (donated.getInt() == result)
          return true;
    return false;
  }

  func::FuncOp step;
  const StepRoles &roles;
  llvm::DenseMap<unsigned, json::Object> makes;
};
} // namespace

FailureOr<json::Array> llmmem::describeBuffers(func::FuncOp step) {
  llvm::Expected<StepRoles> roles = StepRoles::find(step);
  if (!roles) {
    step.emitError(llvm::toString(roles.takeError()));
    return failure();
  }
  return BufferWriter(step, *roles).write();
}
