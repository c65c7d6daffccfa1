//===- ModelBuffers.cpp - The buffers of a compiled function, by name ------===//

#include "llmmem/Execution/ModelBuffers.h"
#include "ParameterLoader.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/FileOrder.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llmmem;

llvm::Error ModelBuffers::checkFloats(const CompiledStep &step, const StepRoles &roles) {
  auto isFloat = [&](unsigned argument) {
    return floatKindOf(step.arguments()[argument].type.getElementType()).has_value();
  };
  for (const StepRoles::Parameter &parameter : roles.parameters) {
    const StepArgument &argument = step.arguments()[parameter.argument];
    if (argument.transposed && argument.type.getRank() != 2)
      return llvm::createStringError("parameter '" + parameter.name +
                                     "' has 'llm.transposed', which a matrix may have");
    if (parameter.scales) {
      if (llvm::Error error = PackedParameter::check(step, parameter))
        return error;
    } else if (!isFloat(parameter.argument))
      return llvm::createStringError("parameter '" + parameter.name +
                                     "' has elements that are not floats");
  }
  // Moments by blocks are bytes, which only a kernel reads.
  auto isByBlocks = [&](unsigned argument) {
    return step.arguments()[argument].type.getElementType().isInteger(8);
  };
  for (unsigned state : roles.states)
    if (!isFloat(state) && !isByBlocks(state))
      return llvm::createStringError("state '" + step.arguments()[state].name +
                                     "' has elements that are not floats");
  return llvm::Error::success();
}

llvm::Expected<ModelBuffers> ModelBuffers::allocateSharing(const ModelBuffers &other,
                                                           const CompiledStep &step,
                                                           StepRoles roles) {
  if (llvm::Error error = checkFloats(step, roles))
    return std::move(error);
  llvm::StringMap<unsigned> numbers;
  for (auto [number, argument] : llvm::enumerate(other.step->arguments()))
    numbers[argument.name] = number;
  std::vector<std::optional<unsigned>> shared(step.arguments().size());
  for (auto [argument, number] : llvm::zip_equal(step.arguments(), shared)) {
    if (argument.role != llm::Role::Param && argument.role != llm::Role::KvCache)
      continue;
    auto known = numbers.find(argument.name);
    if (known == numbers.end())
      return llvm::createStringError("one step has '" + argument.name + "', and the other has not");
    mlir::RankedTensorType type = other.step->arguments()[known->second].type;
    if (type != argument.type) {
      std::string text;
      llvm::raw_string_ostream(text) << "'" << argument.name << "' is " << argument.type
                                     << " in one step and " << type << " in the other";
      return llvm::createStringError(text);
    }
    number = known->second;
  }
  llvm::Expected<StepMemory> memory = StepMemory::allocate(step, other.memory, shared);
  if (!memory)
    return memory.takeError();
  return ModelBuffers(step, std::move(roles), std::move(*memory));
}

llvm::Expected<ModelBuffers> ModelBuffers::allocate(const CompiledStep &step, StepRoles roles) {
  if (llvm::Error error = checkFloats(step, roles))
    return std::move(error);
  llvm::Expected<StepMemory> memory = StepMemory::allocate(step);
  if (!memory)
    return memory.takeError();
  return ModelBuffers(step, std::move(roles), std::move(*memory));
}

FloatKind ModelBuffers::kindOf(unsigned argument) const {
  return *floatKindOf(step->arguments()[argument].type.getElementType());
}

llvm::Error ModelBuffers::run() {
  if (failed(step->run(memory)))
    return llvm::createStringError("the step did not run to its end");
  return llvm::Error::success();
}

llvm::Error ModelBuffers::runUpdate() {
  if (failed(step->runUpdate(memory)))
    return llvm::createStringError("the update did not run to its end");
  return llvm::Error::success();
}

llvm::MutableArrayRef<int32_t> ModelBuffers::integers(unsigned argument) {
  return {static_cast<int32_t *>(memory.argument(argument)),
          static_cast<size_t>(step->arguments()[argument].type.getNumElements())};
}

TokenFeed::Shape llmmem::feedShapeOf(const CompiledStep &step, const StepRoles &roles) {
  const StepArgument &ids = *step.ids();
  auto lengthOf = [](mlir::RankedTensorType type) {
    return type.getRank() == 0 ? 1 : type.getShape().back();
  };
  TokenFeed::Shape feed;
  feed.seq = lengthOf(ids.whole);
  feed.batch = ids.whole.getNumElements() / feed.seq;
  const int64_t share = lengthOf(ids.type);
  feed.parts = feed.seq / share;
  int64_t first = -1; // The number in the whole batch of the first id that this rank reads.
  ids.shard.forEachRun(ids.shard.position(),
                       [&](Shard::Run run) { first = first < 0 ? run.whole : first; });
  feed.firstRow = first / feed.seq;
  feed.part = first % feed.seq / share;
  feed.vocabulary = roles.vocabulary;
  feed.labelSeq = roles.labelSeq;
  return feed;
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

InitialSample llmmem::initialSampleOf(llvm::StringRef name, mlir::RankedTensorType type) {
  // An adapter begins without an effect (Hu et al. 2021, section 4.1).
  if (name.ends_with(".lora_B.weight"))
    return {};
  if (type.getRank() >= 2)
    return {0.02, /*isNormal=*/true};
  return {type.getRank() == 1 && name.ends_with("weight") ? 1.0 : 0.0};
}

void ModelBuffers::sampleParameters(uint64_t seed) {
  for (const StepRoles::Parameter &parameter : roles.parameters)
    sample(parameter, streamOf(seed, parameter.name));
}

void ModelBuffers::sample(const StepRoles::Parameter &parameter, uint64_t stream) {
  if (parameter.scales)
    return PackedParameter(*this, parameter).sample(stream);
  sample(parameter.argument, parameter, stream);
  if (parameter.master && step->arguments()[*parameter.master].shard.isHere())
    sample(*parameter.master, parameter, stream);
}

/// Samples the parameter or its master. Ranks may have all of one and a part of the other.
void ModelBuffers::sample(unsigned number, const StepRoles::Parameter &parameter, uint64_t stream) {
  const StepArgument &argument = step->arguments()[parameter.argument];
  const InitialSample initial = initialSampleOf(parameter.name, argument.type);
  const FileOrder order(argument);
  const FloatKind kind = kindOf(number);
  auto *elements = static_cast<char *>(memory.argument(number));
  constexpr int64_t kPiece = 1 << 14;
  // Samples depend on the element of the unsharded value, so the number of ranks changes no
  // parameter. Padding stays 0.
  const std::vector<Shard::Run> pieces = runsOf(step->arguments()[number].shard, kPiece);
  auto samplePiece = [&](int64_t piece) {
    auto [first, begin, count] = pieces[piece];
    // Values are rounded to f32 first, so that runs in bf16 and in f32 begin with the same
    // parameters.
    float values[kPiece];
    for (int64_t index = 0; index < count; ++index)
      values[index] = static_cast<float>(
          initial.isNormal
              ? initial.value * llmmem_sample_normal(stream, order.placeOf(first + index))
              : initial.value);
    convertFloats(FloatKind::F32, values, kind, elements + begin * bytesOf(kind), count);
  };
  parallelFor(static_cast<int64_t>(pieces.size()), samplePiece);
}

void ModelBuffers::initializeStates() {
  for (unsigned state : roles.states) {
    const StepArgument &argument = step->arguments()[state];
    if (argument.initial == 0.0 || !argument.shard.isHere())
      continue;
    for (int64_t index = 0; index < argument.type.getNumElements(); ++index)
      writeFloat(kindOf(state), memory.argument(state), index, argument.initial);
  }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> ModelBuffers::loadParameters(const SafeTensors &file) {
  return ParameterLoader(*this).load(file);
}

llvm::Error ModelBuffers::loadArgument(unsigned argument, const TensorEntry &tensor) {
  return ParameterLoader(*this).loadArgument(argument, tensor);
}

TensorEntry ModelBuffers::tensorOf(llvm::StringRef name, unsigned argument) const {
  const StepArgument &info = step->arguments()[argument];
  TensorEntry tensor;
  tensor.name = name.str();
  tensor.shape = std::vector<int64_t>(info.whole.getShape());
  tensor.shard = info.shard;
  mlir::Type element = info.type.getElementType();
  tensor.dtype =
      (llm::isPacked(element) ? packedDtypeOf(element) : dtypeOf(kindOf(argument))).str();
  if (element.isInteger(4)) {                       // Files have no type of four bits.
    tensor.shape = {info.bytes * info.shard.parts}; // Parts are whole bytes (Parallelize.cpp).
    tensor.shard.shape = {tensor.shape[0]};
  }
  if (info.shard.isHere())
    tensor.bytes = llvm::StringRef(static_cast<const char *>(memory.bytes(argument)), info.bytes);
  return tensor;
}

std::vector<TensorEntry> ModelBuffers::tensorsOf(llvm::StringRef name, unsigned argument) const {
  TensorEntry whole = tensorOf(name, argument);
  if (nameOfSlice(name, 0).empty() || whole.shard.parts > 1)
    return {whole};
  int64_t slices = whole.shape.front();
  size_t bytes = whole.bytes.size() / slices;
  TensorEntry slice = whole;
  slice.shape.erase(slice.shape.begin());
  slice.shard.shape.erase(slice.shard.shape.begin());
  slice.shard.pieces.clear();
  std::vector<TensorEntry> tensors;
  for (int64_t number = 0; number < slices; ++number) {
    slice.name = nameOfSlice(name, number);
    slice.bytes = whole.bytes.substr(number * bytes, bytes);
    tensors.push_back(slice);
  }
  return tensors;
}

std::string ModelBuffers::digest() const {
  // Hashes each tensor, then the hashes, which takes one pass and no copy of the parameters.
  std::vector<TensorEntry> tensors;
  for (const StepRoles::Parameter &parameter : roles.parameters)
    tensors.push_back(tensorOf(parameter.name, parameter.argument));
  std::vector<std::string> hashes(tensors.size());
  parallelFor(hashes.size(), [&](int64_t number) {
    const StepRoles::Parameter &parameter = roles.parameters[number];
    if (tensors[number].shard.parts == 1)
      hashes[number] = hashText(tensors[number].bytes);
    for (std::optional<unsigned> extra : {parameter.scales, parameter.zeros})
      if (extra)
        hashes[number] = hashText(hashes[number] + hashText(tensorOf("", *extra).bytes));
  });
  // For a split parameter the unsharded value is hashed, so that the digest does not depend on the
  // ranks.
  for (auto [tensor, hash] : llvm::zip_equal(tensors, hashes))
    if (tensor.shard.parts > 1) {
      std::vector<char> whole = tensor.shard.gather(tensor.bytes);
      hash = hashText({whole.data(), whole.size()});
    }
  if (!step->parametersOfAllStages().empty())
    hashes = hashesOfAllStages(hashes);
  return hashText(llvm::join(hashes, ""));
}

/// Keeps the order of the model, whichever stage has a parameter.
std::vector<std::string>
ModelBuffers::hashesOfAllStages(llvm::ArrayRef<std::string> ownHashes) const {
  std::string own;
  for (auto [parameter, hash] : llvm::zip_equal(roles.parameters, ownHashes))
    own += parameter.name + "\n" + hash + "\n";
  llvm::StringMap<std::string> known;
  for (llvm::StringRef text : RankJob::gatherTexts(own))
    while (!text.empty()) {
      auto [name, rest] = text.split('\n');
      auto [hash, others] = rest.split('\n');
      known[name] = hash.str();
      text = others;
    }
  std::vector<std::string> hashes;
  for (const std::string &name : step->parametersOfAllStages())
    hashes.push_back(known.lookup(name));
  return hashes;
}
