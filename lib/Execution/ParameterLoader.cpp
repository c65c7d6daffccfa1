//===- ParameterLoader.cpp - Parameters from files -------------------------===//

#include "ParameterLoader.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;

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

llvm::Expected<int64_t> ParameterLoader::load(const SafeTensors &file) {
  const bool keepsAdapters = !hasAdapters(file);
  int64_t used = 0;
  for (const StepRoles::Parameter &parameter : buffers.argumentRoles().parameters) {
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
llvm::Expected<int64_t> ParameterLoader::loadParameter(const StepRoles::Parameter &parameter,
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
  const StepArgument &argument = step.arguments()[parameter.argument];
  const auto count = static_cast<int64_t>(slices->size());
  if (parameter.scales) {
    if (llvm::Error error = PackedParameter(buffers, parameter)
                                .load(*slices, argument.whole.getShape().drop_front()))
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
ParameterLoader::findSlices(const StepRoles::Parameter &parameter, const SafeTensors &file) {
  std::vector<const TensorEntry *> found;
  int64_t slices = step.arguments()[parameter.argument].whole.getDimSize(0);
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
llvm::Expected<int64_t> ParameterLoader::loadHeld(const StepRoles::Parameter &parameter,
                                                  const SafeTensors &file,
                                                  const TensorEntry &tensor) {
  llvm::Expected<const TensorEntry *> scales =
      findTensor(file, parameter.name + llm::kScalesSuffix.str());
  if (!scales)
    return scales.takeError();
  if (!*scales) {
    if (llvm::Error error =
            PackedParameter(buffers, parameter)
                .load(&tensor, FileOrder(step.arguments()[parameter.argument]).shape()))
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

llvm::Error ParameterLoader::loadArgument(unsigned argument, const TensorEntry &tensor) {
  if (llm::isPacked(step.arguments()[argument].type.getElementType()))
    return loadStored(argument, tensor);
  const FileOrder order(step.arguments()[argument]);
  if (order.isTransposed())
    return loadTransposed(argument, tensor, order);
  return loadElements(argument, tensor, order.shape(), /*begin=*/0);
}

llvm::Error llmmem::checkShape(const TensorEntry &tensor, llvm::ArrayRef<int64_t> expected) {
  if (expected == llvm::ArrayRef<int64_t>(tensor.shape))
    return llvm::Error::success();
  return llvm::createStringError("tensor '" + tensor.name + "' has the shape " +
                                 printShape(tensor.shape) + ", the step expects " +
                                 printShape(expected));
}

llvm::Error ParameterLoader::loadSlice(unsigned argument, const TensorEntry &tensor,
                                       int64_t slice) {
  mlir::RankedTensorType whole = step.arguments()[argument].whole;
  return loadElements(argument, tensor, whole.getShape().drop_front(),
                      slice * (whole.getNumElements() / whole.getDimSize(0)));
}

static llvm::Error expectFloats(const TensorEntry &tensor) {
  if (floatKindOf(tensor.dtype))
    return llvm::Error::success();
  return llvm::createStringError("tensor '" + tensor.name + "' has the dtype " + tensor.dtype +
                                 ", expected F64, F32, BF16 or F16");
}

std::vector<Shard::Run> llmmem::runsOf(const Shard &shard, int64_t most) {
  std::vector<Shard::Run> runs;
  shard.forEachRun(shard.position(), [&](Shard::Run run) {
    for (int64_t begin = 0; begin < run.count; begin += most)
      runs.push_back({run.whole + begin, run.part + begin, std::min(most, run.count - begin)});
  });
  return runs;
}

/// Loads what this rank has of the argument, by the places of its elements in the file.
llvm::Error ParameterLoader::loadTransposed(unsigned argument, const TensorEntry &tensor,
                                            const FileOrder &order) {
  if (llvm::Error error = checkShape(tensor, order.shape()))
    return error;
  if (llvm::Error error = expectFloats(tensor))
    return error;
  const FloatKind kind = *floatKindOf(tensor.dtype), own = buffers.kindOf(argument);
  const std::vector<Shard::Run> runs =
      runsOf(step.arguments()[argument].shard, /*most=*/order.shape().front());
  parallelFor(static_cast<int64_t>(runs.size()), [&](int64_t number) {
    const Shard::Run run = runs[number];
    for (int64_t i = 0; i < run.count; ++i)
      writeFloat(own, memory.argument(argument), run.part + i,
                 readFloat(kind, tensor.bytes.data(), order.placeOf(run.whole + i)));
  });
  return llvm::Error::success();
}

/// Loads a tensor of the `expected` shape into the elements of the unsharded value from `begin` on.
llvm::Error ParameterLoader::loadElements(unsigned argument, const TensorEntry &tensor,
                                          llvm::ArrayRef<int64_t> expected, int64_t begin) {
  const Shard &shard = step.arguments()[argument].shard;
  if (llvm::Error error = checkShape(tensor, expected))
    return error;
  if (llvm::Error error = expectFloats(tensor))
    return error;
  if (!shard.isHere())
    return llvm::Error::success();
  const FloatKind kind = *floatKindOf(tensor.dtype), own = buffers.kindOf(argument);
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

/// Loads what `--save` has written.
llvm::Error ParameterLoader::loadStored(unsigned argument, const TensorEntry &tensor) {
  TensorEntry own = buffers.tensorOf(tensor.name, argument);
  if (tensor.dtype != own.dtype || tensor.shape != own.shape)
    return llvm::createStringError("tensor '" + tensor.name +
                                   "' is not what the step holds: its "
                                   "dtype is " +
                                   tensor.dtype + ", expected " + own.dtype +
                                   ", or its shape is another");
  const int64_t bytes = step.arguments()[argument].bytes;
  std::memcpy(memory.argument(argument), tensor.bytes.data() + own.shard.position() * bytes, bytes);
  return llvm::Error::success();
}
