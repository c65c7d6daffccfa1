//===- TrainingRun.cpp - Steps, losses, checkpoints ------------------------===//

#include "llmmem/Execution/TrainingRun.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/TensorBytes.h"
#include <cstring>

using namespace llmmem;

// Only llmmem reads these tensors and metadata; other readers of the file ignore them.
static constexpr llvm::StringLiteral kState = "llmmem.state.";
static constexpr llvm::StringLiteral kStep = "llmmem.step";
static constexpr llvm::StringLiteral kSeed = "llmmem.seed";

llvm::Expected<TrainingRun> TrainingRun::create(const CompiledStep &step, StepRoles roles,
                                                uint64_t seed) {
  if (step.results().empty() || step.results()[0].donatedArgument ||
      step.results()[0].type.getNumElements() != 1 ||
      !floatKindOf(step.results()[0].type.getElementType()))
    return llvm::createStringError(
        "the step's first result is not a loss: expected a scalar that is not donated");
  llvm::Expected<ModelBuffers> buffers = ModelBuffers::allocate(step, std::move(roles));
  if (!buffers)
    return buffers.takeError();
  buffers->sampleParameters(seed);
  buffers->initializeStates();
  return TrainingRun(std::move(*buffers), seed);
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> TrainingRun::load(const SafeTensors &file) {
  llvm::Expected<int64_t> parameters = buffers.loadParameters(file);
  if (!parameters)
    return parameters.takeError();
  int64_t rest = static_cast<int64_t>(file.tensors().size()) - *parameters;
  if (!isSavedRun(file) || !hasState(file))
    return rest;
  llvm::Expected<int64_t> states = loadState(file);
  if (!states)
    return states.takeError();
  return rest - *states;
}

bool TrainingRun::isSavedRun(const SafeTensors &file) { return !file.metadata(kStep).empty(); }

std::string TrainingRun::nameInFile(unsigned state) const {
  return (kState + buffers.compiled().arguments()[state].name).str();
}

bool TrainingRun::hasState(const SafeTensors &file) const {
  bool keepsNone = true;
  for (unsigned state : buffers.argumentRoles().states) {
    if (isMaster(state))
      continue;
    if (file.find(nameInFile(state)))
      return true;
    keepsNone = false;
  }
  return keepsNone;
}

/// Loads what continuing from a step needs in addition to the parameters. Returns the number of
/// tensors taken.
llvm::Expected<int64_t> TrainingRun::loadState(const SafeTensors &file) {
  if (file.metadata(kStep).getAsInteger(10, done) || done < 0 || done >= INT32_MAX)
    return llvm::createStringError("its '" + kStep + "' is '" + file.metadata(kStep) +
                                   "', expected the number of a step");
  if (file.metadata(kSeed).getAsInteger(10, seed))
    return llvm::createStringError("its '" + kSeed + "' is '" + file.metadata(kSeed) +
                                   "', expected a number");
  int64_t taken = 0;
  for (unsigned state : buffers.argumentRoles().states) {
    if (isMaster(state))
      continue;
    std::string name = nameInFile(state);
    const TensorEntry *tensor = file.find(name);
    if (!tensor)
      return llvm::createStringError("the file continues from step " + llvm::Twine(done) +
                                     ", but has no tensor '" + name + "'");
    if (llvm::Error error = checkHashes(*tensor, file.metadata(hashKeyOf(tensor->name)),
                                        file.metadata(partsKeyOf(tensor->name))))
      return std::move(error);
    if (llvm::Error error = buffers.loadArgument(state, *tensor))
      return std::move(error);
    ++taken;
  }
  return taken;
}

bool TrainingRun::isMaster(unsigned state) const {
  return llvm::any_of(
      buffers.argumentRoles().parameters,
      [&](const StepRoles::Parameter &parameter) { return parameter.master == state; });
}

llvm::Error TrainingRun::save(llvm::StringRef path, int64_t fileBytes) {
  std::vector<TensorEntry> tensors;
  for (const StepRoles::Parameter &parameter : buffers.argumentRoles().parameters) {
    llvm::append_range(
        tensors, buffers.tensorsOf(parameter.name, parameter.master.value_or(parameter.argument)));
    // What is stored in fewer bits is written in the same way.
    if (parameter.scales)
      tensors.push_back(
          buffers.tensorOf(parameter.name + llm::kScalesSuffix.str(), *parameter.scales));
    if (parameter.zeros)
      tensors.push_back(
          buffers.tensorOf(parameter.name + llm::kZerosSuffix.str(), *parameter.zeros));
  }
  for (unsigned state : buffers.argumentRoles().states)
    if (!isMaster(state))
      tensors.push_back(
          buffers.tensorOf((kState + buffers.compiled().arguments()[state].name).str(), state));
  if (llvm::Error error = memory().check())
    return error;
  // Loaders of models require `format`; `pt` means row-major tensors as in PyTorch.
  Metadata metadata = {
      {"format", "pt"}, {kStep.str(), std::to_string(done)}, {kSeed.str(), std::to_string(seed)}};
  addHashes(tensors, metadata);
  return writeSafeTensors(path, tensors, metadata, fileBytes);
}

llvm::Error TrainingRun::saveGradients(llvm::StringRef path) {
  std::vector<TensorEntry> tensors;
  for (const StepRoles::Parameter &parameter : buffers.argumentRoles().parameters) {
    if (parameter.frozen)
      continue;
    if (!parameter.gradient)
      return llvm::createStringError("the gradient of '" + parameter.name +
                                     "' is not live at the end of the step; import the model with "
                                     "--gradients resident");
    llvm::append_range(tensors, buffers.tensorsOf(parameter.name, *parameter.gradient));
  }
  if (llvm::Error error = memory().check())
    return error;
  return writeSafeTensors(path, tensors);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool TrainingRun::lossIsDouble() const {
  return buffers.compiled().results()[0].type.getElementType().isF64();
}

void TrainingRun::feedInputs(StepFeed &feed, double learningRate) {
  const StepRoles &roles = buffers.argumentRoles();
  feed.fill(buffers, done);
  if (roles.learningRate)
    writeFloat(buffers.kindOf(*roles.learningRate), memory().argument(*roles.learningRate), 0,
               learningRate);
  if (roles.step)
    buffers.integers(*roles.step)[0] = static_cast<int32_t>(done + 1);
  if (roles.seed) {
    uint64_t words = llmmem_sample_word(llmmem_sample_stream(seed), done);
    std::memcpy(memory().argument(*roles.seed), &words, sizeof words);
  }
  for (unsigned gradient : roles.gradients)
    memory().clear(gradient, buffers.compiled().arguments()[gradient].bytes);
}

std::optional<unsigned> TrainingRun::droppedChoices() const {
  for (auto [number, result] : llvm::enumerate(buffers.compiled().results()))
    if (llvm::StringRef(result.name).starts_with("dropped_choices") &&
        result.type.getElementType().isInteger(32) && result.type.getNumElements() == 1)
      return number;
  return std::nullopt;
}

/// Returns the time of the last function that ran on a GPU.
int64_t TrainingRun::replayNs() const {
  return buffers.compiled().cuda() ? buffers.compiled().cuda()->replayNs() : 0;
}

std::optional<LossScaleReport> TrainingRun::lossScale() const {
  auto find = [&](llvm::StringRef name) -> std::optional<double> {
    for (unsigned state : buffers.argumentRoles().states)
      if (buffers.compiled().arguments()[state].name == name)
        return readFloat(buffers.kindOf(state), buffers.stepMemory().bytes(state), 0);
    return std::nullopt;
  };
  std::optional<double> scale = find("loss_scale"), updates = find("loss_scale.updates");
  if (!scale || !updates)
    return std::nullopt;
  return LossScaleReport{*scale, done - static_cast<int64_t>(*updates)};
}

llvm::Expected<StepReport> TrainingRun::runStep(StepFeed &feed, double learningRate) {
  feedInputs(feed, learningRate);
  FloatKind kind = *floatKindOf(buffers.compiled().results()[0].type.getElementType());
  std::optional<unsigned> counter = droppedChoices();
  StepReport report{done + 1};
  if (counter)
    report.droppedChoices = 0;
  for (int64_t number = 0; number < buffers.compiled().microBatches(); ++number) {
    if (std::optional<unsigned> argument = buffers.argumentRoles().microBatch)
      buffers.integers(*argument)[0] = static_cast<int32_t>(number);
    if (llvm::Error error = buffers.run())
      return std::move(error);
    report.deviceNs += replayNs();
    // Each micro-batch adds this to the loss.
    report.loss += readFloat(kind, memory().result(0), 0);
    if (counter)
      *report.droppedChoices += *static_cast<const int32_t *>(memory().result(*counter));
  }
  if (llvm::Error error = buffers.runUpdate())
    return std::move(error);
  if (buffers.compiled().microBatches() > 1)
    report.deviceNs += replayNs();
  ++done;
  return report;
}
