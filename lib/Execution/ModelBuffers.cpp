//===- ModelBuffers.cpp - The buffers of a compiled function, by name ------===//

#include "llmmem/Execution/ModelBuffers.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/FileOrder.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llmmem/Runtime/Parallel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llmmem;

/// Calls `body` with 0 to count - 1 in parallel, on the threads that run steps.
static void parallelFor(int64_t count, llvm::function_ref<void(int64_t)> body) {
  auto iterations = [](void *context, int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number)
      (*static_cast<llvm::function_ref<void(int64_t)> *>(context))(number);
  };
  llmmem_parallel_for(count, iterations, &body);
}

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
      if (llvm::Error error = checkPacked(step, parameter))
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

llvm::Expected<ModelBuffers>
ModelBuffers::allocateBeside(const ModelBuffers &other, const CompiledStep &step, StepRoles roles) {
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
  mlir::RankedTensorType type = step.ids()->type;
  TokenFeed::Shape feed;
  feed.seq = type.getRank() == 0 ? 1 : type.getShape().back();
  const Shard &shard = step.ids()->shard;
  int64_t rows = type.getNumElements() / feed.seq;
  feed.batch = rows * shard.parts;
  feed.firstRow = rows * shard.position();
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

/// Returns what this rank has of an unsharded value, in runs of at most `most` elements. Padding is
/// in none.
static std::vector<Shard::Run> runsOf(const Shard &shard, int64_t most) {
  std::vector<Shard::Run> runs;
  shard.forEachRun(shard.position(), [&](Shard::Run run) {
    for (int64_t begin = 0; begin < run.count; begin += most)
      runs.push_back({run.whole + begin, run.part + begin, std::min(most, run.count - begin)});
  });
  return runs;
}

void ModelBuffers::sample(const StepRoles::Parameter &parameter, uint64_t stream) {
  if (parameter.scales)
    return samplePacked(parameter, stream);
  const StepArgument &argument = step->arguments()[parameter.argument];
  const InitialSample initial = initialSampleOf(parameter.name, argument.type);
  const FileOrder order(argument);
  constexpr int64_t kPiece = 1 << 14;
  llvm::SmallVector<std::pair<FloatKind, char *>, 2> copies = {
      {kindOf(parameter.argument), static_cast<char *>(memory.argument(parameter.argument))}};
  if (parameter.master && step->arguments()[*parameter.master].shard.isHere())
    copies.push_back(
        {kindOf(*parameter.master), static_cast<char *>(memory.argument(*parameter.master))});
  // Samples depend on the element of the unsharded value, so the number of ranks changes no
  // parameter. Padding stays 0.
  const std::vector<Shard::Run> pieces = runsOf(argument.shard, kPiece);
  auto samplePiece = [&](int64_t piece) {
    auto [first, begin, count] = pieces[piece];
    // Values are rounded to f32 first, so that runs in bf16 and in f32 begin with the same
    // parameters.
    float values[kPiece];
    for (int64_t index = 0; index < count; ++index)
      values[index] = static_cast<float>(
          initial.isNormal ? initial.value * sampleNormal(stream, order.placeOf(first + index))
                           : initial.value);
    for (auto [kind, bytes] : copies)
      convertFloats(FloatKind::F32, values, kind, bytes + begin * bytesOf(kind), count);
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

llvm::SmallVector<std::string> llmmem::checkpointNames(llvm::StringRef name) {
  constexpr llvm::StringLiteral families[] = {"transformer.", "model."};
  llvm::SmallVector<std::string> names = {name.str()};
  for (llvm::StringRef family : families)
    names.push_back(name.starts_with(family) ? name.drop_front(family.size()).str()
                                             : (family + name).str());
  // The first files of BERT call the scale and the shift of a norm so.
  for (auto [newer, older] :
       {std::pair(".LayerNorm.weight", ".LayerNorm.gamma"), {".LayerNorm.bias", ".LayerNorm.beta"}})
    if (llvm::StringRef module = name; module.consume_back(newer))
      names.push_back((module + older).str());
  for (const std::string &known : llvm::SmallVector<std::string>(names))
    names.push_back("param." + known);
  return names;
}

static bool isOfAdapter(llvm::StringRef name) {
  return name.contains(".lora_A.") || name.contains(".lora_B.");
}

/// The checkpoint of the model that adapters start from has none of them.
static bool hasAdapters(const SafeTensors &file) {
  return llvm::any_of(file.tensors(),
                      [](const TensorEntry &tensor) { return isOfAdapter(tensor.name); });
}

std::string llmmem::nameOfSlice(llvm::StringRef name, int64_t slice) {
  auto [before, after] = name.split(".*.");
  return after.empty() ? std::string() : (before + "." + llvm::Twine(slice) + "." + after).str();
}

/// Finds the tensor under a name that public checkpoints may give it, with the bytes that were
/// saved; null where there is none.
static llvm::Expected<const TensorEntry *> findTensor(const SafeTensors &file,
                                                      llvm::StringRef name) {
  for (const std::string &known : checkpointNames(name))
    if (const TensorEntry *tensor = file.find(known)) {
      if (llvm::Error error = checkHashes(*tensor, file.metadata(hashKeyOf(tensor->name)),
                                          file.metadata(partsKeyOf(tensor->name))))
        return std::move(error);
      return tensor;
    }
  return nullptr;
}

llvm::Expected<int64_t> ModelBuffers::loadParameters(const SafeTensors &file) {
  const bool keepsAdapters = !hasAdapters(file);
  int64_t used = 0;
  for (const StepRoles::Parameter &parameter : roles.parameters) {
    if (keepsAdapters && isOfAdapter(parameter.name))
      continue;
    llvm::Expected<int64_t> tensors = loadParameter(parameter, file);
    if (!tensors)
      return tensors.takeError();
    used += *tensors;
  }
  return used;
}

/// Returns how many tensors of the file form the parameter.
llvm::Expected<int64_t> ModelBuffers::loadParameter(const StepRoles::Parameter &parameter,
                                                    const SafeTensors &file) {
  llvm::SmallVector<unsigned, 2> arguments = {parameter.argument};
  if (parameter.master)
    arguments.push_back(*parameter.master);
  llvm::Expected<const TensorEntry *> whole = findTensor(file, parameter.name);
  if (!whole)
    return whole.takeError();
  if (*whole && parameter.scales)
    return loadHeld(parameter, file, **whole);
  if (*whole) {
    for (unsigned argument : arguments)
      if (llvm::Error error = loadArgument(argument, **whole))
        return std::move(error);
    return 1;
  }
  if (nameOfSlice(parameter.name, 0).empty())
    return llvm::createStringError("the file has no tensor '" + parameter.name + "'");
  llvm::Expected<std::vector<const TensorEntry *>> slices = findSlices(parameter, file);
  if (!slices)
    return slices.takeError();
  const StepArgument &argument = step->arguments()[parameter.argument];
  const auto count = static_cast<int64_t>(slices->size());
  if (parameter.scales) {
    if (llvm::Error error = loadPacked(parameter, *slices, argument.whole.getShape().drop_front()))
      return std::move(error);
    return count;
  }
  for (auto [slice, tensor] : llvm::enumerate(*slices))
    for (unsigned number : arguments)
      if (llvm::Error error = loadSlice(number, *tensor, static_cast<int64_t>(slice)))
        return std::move(error);
  return count;
}

/// Returns the slices along the first dimension of the parameter, whose name has a place for their
/// numbers.
llvm::Expected<std::vector<const TensorEntry *>>
ModelBuffers::findSlices(const StepRoles::Parameter &parameter, const SafeTensors &file) {
  std::vector<const TensorEntry *> found;
  int64_t slices = step->arguments()[parameter.argument].whole.getDimSize(0);
  for (int64_t slice = 0; slice < slices; ++slice) {
    std::string name = nameOfSlice(parameter.name, slice);
    llvm::Expected<const TensorEntry *> tensor = findTensor(file, name);
    if (!tensor)
      return tensor.takeError();
    if (!*tensor)
      return llvm::createStringError("the file has no tensor '" + name + "', slice " +
                                     llvm::Twine(slice) + " of " + llvm::Twine(slices) + " of '" +
                                     parameter.name + "'");
    found.push_back(*tensor);
  }
  return found;
}

static std::string printShape(llvm::ArrayRef<int64_t> shape) {
  auto extents = llvm::map_range(shape, [](int64_t extent) { return std::to_string(extent); });
  return "[" + llvm::join(extents, ", ") + "]";
}

/// Loads numbers in fewer bits as they were saved, or rounds weights now.
llvm::Expected<int64_t> ModelBuffers::loadHeld(const StepRoles::Parameter &parameter,
                                               const SafeTensors &file, const TensorEntry &tensor) {
  llvm::Expected<const TensorEntry *> scales =
      findTensor(file, parameter.name + llm::kScalesSuffix.str());
  if (!scales)
    return scales.takeError();
  if (!*scales) {
    if (llvm::Error error = loadPacked(parameter, &tensor,
                                       FileOrder(step->arguments()[parameter.argument]).shape()))
      return std::move(error);
    return 1;
  }
  if (llvm::Error error = loadStored(parameter.argument, tensor))
    return std::move(error);
  if (llvm::Error error = loadStored(*parameter.scales, **scales))
    return std::move(error);
  if (!parameter.zeros)
    return 2;
  llvm::Expected<const TensorEntry *> zeros =
      findTensor(file, parameter.name + llm::kZerosSuffix.str());
  if (!zeros)
    return zeros.takeError();
  if (!*zeros)
    return llvm::createStringError("the file has no tensor '" + parameter.name + llm::kZerosSuffix +
                                   "'");
  if (llvm::Error error = loadStored(*parameter.zeros, **zeros))
    return std::move(error);
  return 3;
}

llvm::Error ModelBuffers::loadArgument(unsigned argument, const TensorEntry &tensor) {
  if (llm::isPacked(step->arguments()[argument].type.getElementType()))
    return loadStored(argument, tensor);
  const FileOrder order(step->arguments()[argument]);
  if (order.isTransposed())
    return loadTransposed(argument, tensor, order);
  return loadElements(argument, tensor, order.shape(), /*begin=*/0);
}

llvm::Error ModelBuffers::checkShape(const TensorEntry &tensor, llvm::ArrayRef<int64_t> expected) {
  if (expected == llvm::ArrayRef<int64_t>(tensor.shape))
    return llvm::Error::success();
  return llvm::createStringError("tensor '" + tensor.name + "' has the shape " +
                                 printShape(tensor.shape) + ", the step expects " +
                                 printShape(expected));
}

llvm::Error ModelBuffers::loadSlice(unsigned argument, const TensorEntry &tensor, int64_t slice) {
  mlir::RankedTensorType whole = step->arguments()[argument].whole;
  return loadElements(argument, tensor, whole.getShape().drop_front(),
                      slice * (whole.getNumElements() / whole.getDimSize(0)));
}

static llvm::Error expectFloats(const TensorEntry &tensor) {
  if (floatKindOf(tensor.dtype))
    return llvm::Error::success();
  return llvm::createStringError("tensor '" + tensor.name + "' has the dtype " + tensor.dtype +
                                 ", expected F64, F32, BF16 or F16");
}

/// Loads what this rank has of the argument, by the places of its elements in the file.
llvm::Error ModelBuffers::loadTransposed(unsigned argument, const TensorEntry &tensor,
                                         const FileOrder &order) {
  if (llvm::Error error = checkShape(tensor, order.shape()))
    return error;
  if (llvm::Error error = expectFloats(tensor))
    return error;
  const FloatKind kind = *floatKindOf(tensor.dtype), own = kindOf(argument);
  const std::vector<Shard::Run> runs =
      runsOf(step->arguments()[argument].shard, /*most=*/order.shape().front());
  parallelFor(static_cast<int64_t>(runs.size()), [&](int64_t number) {
    const Shard::Run run = runs[number];
    for (int64_t i = 0; i < run.count; ++i)
      writeFloat(own, memory.argument(argument), run.part + i,
                 readFloat(kind, tensor.bytes.data(), order.placeOf(run.whole + i)));
  });
  return llvm::Error::success();
}

/// Loads a tensor of the `expected` shape into the elements of the unsharded value from `begin` on.
llvm::Error ModelBuffers::loadElements(unsigned argument, const TensorEntry &tensor,
                                       llvm::ArrayRef<int64_t> expected, int64_t begin) {
  const Shard &shard = step->arguments()[argument].shard;
  if (llvm::Error error = checkShape(tensor, expected))
    return error;
  if (llvm::Error error = expectFloats(tensor))
    return error;
  if (!shard.isHere())
    return llvm::Error::success();
  const FloatKind kind = *floatKindOf(tensor.dtype), own = kindOf(argument);
  char *part = static_cast<char *>(memory.argument(argument));
  int64_t end = begin + static_cast<int64_t>(tensor.bytes.size()) / bytesOf(kind);
  shard.forEachRun(shard.position(), [&](Shard::Run run) {
    int64_t first = std::max(run.whole, begin), last = std::min(run.whole + run.count, end);
    if (first < last)
      convertFloats(kind, tensor.bytes.data() + (first - begin) * bytesOf(kind), own,
                    part + (run.part + first - run.whole) * bytesOf(own), last - first);
  });
  return llvm::Error::success();
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
  if (element.isInteger(4)) { // Files have no type of four bits.
    tensor.shape = {info.bytes};
    tensor.shard.shape = {info.bytes};
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
