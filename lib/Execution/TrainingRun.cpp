//===- TrainingRun.cpp - Steps, parameters, losses -------------------------===//

#include "llmmem/Execution/TrainingRun.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <cstring>

using namespace llmmem;

//===----------------------------------------------------------------------===//
// Counter-based numbers: element i of a name is the same whatever else is drawn
//===----------------------------------------------------------------------===//

/// The finaliser of splitmix64.
static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static uint64_t draw(uint64_t stream, uint64_t counter) {
  return mix(stream + (counter + 1) * 0x9E3779B97F4A7C15ull);
}

/// A normal number by Box and Muller's transform.
static double drawNormal(uint64_t stream, uint64_t counter) {
  double u = (static_cast<double>(draw(stream, 2 * counter) >> 11) + 1.0) * 0x1p-53;
  double v = static_cast<double>(draw(stream, 2 * counter + 1) >> 11) * 0x1p-53;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * M_PI * v);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

llvm::Expected<TrainingRun> TrainingRun::create(const CompiledStep &step, StepRoles roles,
                                                uint64_t seed) {
  if (step.results().empty() || step.results()[0].donatedArgument ||
      step.results()[0].type.getNumElements() != 1 ||
      !floatKindOf(step.results()[0].type.getElementType()))
    return llvm::createStringError(
        "the step's first result is no loss: expected a scalar that is donated to nothing");
  for (const StepRoles::Parameter &parameter : roles.parameters)
    if (!floatKindOf(step.arguments()[parameter.argument].type.getElementType()))
      return llvm::createStringError("parameter '" + parameter.name +
                                     "' has elements that are no floats");
  llvm::Expected<StepMemory> memory = StepMemory::allocate(step);
  if (!memory)
    return memory.takeError();
  TrainingRun run(step, std::move(roles), seed, std::move(*memory));
  for (const StepRoles::Parameter &parameter : run.roles.parameters)
    run.initialize(parameter);
  return std::move(run);
}

void TrainingRun::setParameter(const StepRoles::Parameter &parameter, int64_t index, double value) {
  auto set = [&](unsigned argument) {
    FloatKind kind = *floatKindOf(step->arguments()[argument].type.getElementType());
    writeFloat(kind, stepMemory.argument(argument), index, value);
  };
  set(parameter.argument);
  if (parameter.master)
    set(*parameter.master);
}

void TrainingRun::initialize(const StepRoles::Parameter &parameter) {
  mlir::RankedTensorType type = step->arguments()[parameter.argument].type;
  bool isNormScale = type.getRank() == 1 && llvm::StringRef(parameter.name).ends_with("weight");
  uint64_t stream = mix(seed) ^ llvm::xxh3_64bits(parameter.name);
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    // Rounded to f32 first, so that a run in bf16 begins where the one in f32 does.
    float weight = static_cast<float>(0.02 * drawNormal(stream, index));
    setParameter(parameter, index, type.getRank() >= 2 ? weight : isNormScale ? 1.0 : 0.0);
  }
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

llvm::SmallVector<std::string> llmmem::checkpointNames(llvm::StringRef name) {
  constexpr llvm::StringLiteral families[] = {"transformer.", "model."};
  llvm::SmallVector<std::string> names = {name.str()};
  for (llvm::StringRef family : families)
    names.push_back(name.starts_with(family) ? name.drop_front(family.size()).str()
                                             : (family + name).str());
  for (const std::string &known : llvm::SmallVector<std::string>(names))
    names.push_back("param." + known);
  return names;
}

llvm::Expected<int64_t> TrainingRun::load(const SafeTensors &file) {
  int64_t used = 0;
  for (const StepRoles::Parameter &parameter : roles.parameters) {
    const TensorEntry *tensor = nullptr;
    for (const std::string &name : checkpointNames(parameter.name))
      if ((tensor = file.find(name)))
        break;
    if (!tensor)
      return llvm::createStringError("the file has no tensor '" + parameter.name + "'");
    if (llvm::Error error = load(parameter, *tensor))
      return std::move(error);
    ++used;
  }
  return static_cast<int64_t>(file.tensors().size()) - used;
}

llvm::Error TrainingRun::load(const StepRoles::Parameter &parameter, const TensorEntry &tensor) {
  mlir::RankedTensorType type = step->arguments()[parameter.argument].type;
  auto list = [](llvm::ArrayRef<int64_t> shape) {
    return "[" +
           llvm::join(llvm::map_range(shape, [](int64_t extent) { return std::to_string(extent); }),
                      ", ") +
           "]";
  };
  if (type.getShape() != llvm::ArrayRef<int64_t>(tensor.shape))
    return llvm::createStringError("tensor '" + tensor.name + "' has the shape " +
                                   list(tensor.shape) + ", the step expects " +
                                   list(type.getShape()));
  std::optional<FloatKind> kind = floatKindOf(tensor.dtype);
  if (!kind)
    return llvm::createStringError("tensor '" + tensor.name + "' has the dtype " + tensor.dtype +
                                   ", expected F64, F32, BF16 or F16");
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    setParameter(parameter, index, readFloat(*kind, tensor.bytes.data(), index));
  return llvm::Error::success();
}

TensorEntry TrainingRun::tensorOf(llvm::StringRef name, unsigned argument) {
  const StepArgument &info = step->arguments()[argument];
  TensorEntry tensor;
  tensor.name = name.str();
  tensor.dtype = dtypeOf(*floatKindOf(info.type.getElementType())).str();
  tensor.shape = std::vector<int64_t>(info.type.getShape());
  tensor.bytes =
      llvm::StringRef(static_cast<const char *>(stepMemory.argument(argument)), info.bytes);
  return tensor;
}

llvm::Error TrainingRun::save(llvm::StringRef path) {
  std::vector<TensorEntry> tensors;
  for (const StepRoles::Parameter &parameter : roles.parameters)
    tensors.push_back(tensorOf(parameter.name, parameter.master.value_or(parameter.argument)));
  return writeSafeTensors(path, tensors);
}

llvm::Error TrainingRun::saveGradients(llvm::StringRef path) {
  std::vector<TensorEntry> tensors;
  for (const StepRoles::Parameter &parameter : roles.parameters) {
    if (!parameter.gradient)
      return llvm::createStringError(
          "the gradient of '" + parameter.name +
          "' does not live to the end of the step; import the model with "
          "--gradients resident");
    tensors.push_back(tensorOf(parameter.name, *parameter.gradient));
  }
  return writeSafeTensors(path, tensors);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TokenFeed::Shape TrainingRun::feedShape() const {
  llvm::ArrayRef<int64_t> shape = step->arguments()[*roles.ids].type.getShape();
  TokenFeed::Shape feed;
  feed.seq = shape.empty() ? 1 : shape.back();
  feed.batch = step->arguments()[*roles.ids].type.getNumElements() / feed.seq;
  feed.vocabulary = roles.vocabulary;
  return feed;
}

bool TrainingRun::lossIsDouble() const { return step->results()[0].type.getElementType().isF64(); }

void TrainingRun::fillScalars(double learningRate) {
  if (roles.learningRate) {
    mlir::Type element = step->arguments()[*roles.learningRate].type.getElementType();
    writeFloat(*floatKindOf(element), stepMemory.argument(*roles.learningRate), 0, learningRate);
  }
  if (roles.step) {
    int32_t number = static_cast<int32_t>(stepsDone + 1);
    std::memcpy(stepMemory.argument(*roles.step), &number, sizeof number);
  }
}

void TrainingRun::fillSeed() {
  if (!roles.seed)
    return;
  uint64_t words = draw(mix(seed), stepsDone);
  std::memcpy(stepMemory.argument(*roles.seed), &words, sizeof words);
}

StepReport TrainingRun::runStep(TokenFeed &feed, double learningRate) {
  auto integers = [&](std::optional<unsigned> argument) -> llvm::MutableArrayRef<int32_t> {
    if (!argument)
      return {};
    return {static_cast<int32_t *>(stepMemory.argument(*argument)),
            static_cast<size_t>(step->arguments()[*argument].type.getNumElements())};
  };
  feed.next(integers(roles.ids), integers(roles.targets));
  fillScalars(learningRate);
  fillSeed();
  for (unsigned gradient : roles.gradients)
    std::memset(stepMemory.argument(gradient), 0, step->arguments()[gradient].bytes);
  step->run(stepMemory);
  ++stepsDone;
  FloatKind kind = *floatKindOf(step->results()[0].type.getElementType());
  return {stepsDone, readFloat(kind, stepMemory.result(0), 0), digest()};
}

std::string TrainingRun::digest() {
  // Each tensor by itself, then their hashes: one pass, and no copy of all parameters.
  std::string hashes;
  for (const StepRoles::Parameter &parameter : roles.parameters) {
    const auto *bytes = static_cast<const uint8_t *>(stepMemory.argument(parameter.argument));
    size_t count = step->arguments()[parameter.argument].bytes;
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(bytes, count));
    hashes += llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
              llvm::utohexstr(hash.low64, true, 16);
  }
  llvm::XXH128_hash_t all = llvm::xxh3_128bits(llvm::arrayRefFromStringRef<uint8_t>(hashes));
  return llvm::utohexstr(all.high64, true, 16) + llvm::utohexstr(all.low64, true, 16);
}
