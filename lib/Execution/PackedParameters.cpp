//===- PackedParameters.cpp - Parameters that are held in fewer bits -------===//

#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/FileOrder.h"
#include "llmmem/Execution/ModelBuffers.h"
#include "llmmem/Execution/PackNumbers.h"
#include "llmmem/Runtime/Parallel.h"
#include <atomic>

using namespace llmmem;

llvm::Error ModelBuffers::checkPacked(const CompiledStep &step,
                                      const StepRoles::Parameter &parameter) {
  for (std::optional<unsigned> extra : {parameter.scales, parameter.zeros})
    if (step.arguments()[extra.value_or(parameter.argument)].shard.parts > 1)
      return llvm::createStringError(
          "parameter '" + parameter.name +
          "' is held in fewer bits and split over ranks, whose parts have no groups of their own; "
          "leave --weights or the split out");
  return llvm::Error::success();
}

PackedBytes ModelBuffers::packedBytes(const StepRoles::Parameter &parameter) {
  mlir::RankedTensorType type = step->arguments()[parameter.argument].type,
                         scales = step->arguments()[*parameter.scales].type;
  PackedBytes bytes;
  bytes.element = type.getElementType();
  bytes.group = type.getNumElements() / scales.getNumElements();
  bytes.numbers = static_cast<uint8_t *>(memory.argument(parameter.argument));
  bytes.scaleKind = kindOf(*parameter.scales);
  bytes.scales = memory.argument(*parameter.scales);
  if (parameter.zeros)
    bytes.zeros = static_cast<uint8_t *>(memory.argument(*parameter.zeros));
  return bytes;
}

/// Packs two groups at a time, because two zero points share a byte.
bool ModelBuffers::pack(
    const StepRoles::Parameter &parameter,
    llvm::function_ref<void(int64_t first, llvm::MutableArrayRef<double>)> read) {
  const PackedBytes bytes = packedBytes(parameter);
  const int64_t groups = step->arguments()[*parameter.scales].type.getNumElements();
  std::atomic<bool> isFinite = true;
  auto packPair = [&](int64_t pair) {
    std::vector<double> weights(bytes.group);
    for (int64_t number = 2 * pair; number < std::min(2 * pair + 2, groups); ++number) {
      read(number * bytes.group, weights);
      if (!packGroup(bytes, number, weights))
        isFinite = false;
    }
  };
  llvm::function_ref<void(int64_t)> body = packPair;
  auto iterations = [](void *context, int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number)
      (*static_cast<llvm::function_ref<void(int64_t)> *>(context))(number);
  };
  llmmem_parallel_for((groups + 1) / 2, iterations, &body);
  return isFinite;
}

void ModelBuffers::samplePacked(const StepRoles::Parameter &parameter, uint64_t stream) {
  // These are the numbers without packing, rounded once more.
  const FileOrder order(step->arguments()[parameter.argument]);
  pack(parameter, [&](int64_t first, llvm::MutableArrayRef<double> weights) {
    for (auto [i, weight] : llvm::enumerate(weights))
      weight = static_cast<float>(
          0.02 * sampleNormal(stream, order.placeOf(first + static_cast<int64_t>(i))));
  });
}

llvm::Error ModelBuffers::loadPacked(const StepRoles::Parameter &parameter,
                                     llvm::ArrayRef<const TensorEntry *> tensors,
                                     llvm::ArrayRef<int64_t> shape) {
  const StepArgument &argument = step->arguments()[parameter.argument];
  const FileOrder order(argument);
  for (const TensorEntry *tensor : tensors) {
    if (!floatKindOf(tensor->dtype))
      return llvm::createStringError("tensor '" + tensor->name + "' has the dtype " +
                                     tensor->dtype + ", expected F64, F32, BF16 or F16, or " +
                                     packedDtypeOf(argument.type.getElementType()) + " with '" +
                                     parameter.name + ".scales' with it");
    if (llvm::Error error = checkShape(*tensor, shape))
      return error;
  }
  const int64_t ofTensor = argument.type.getNumElements() / static_cast<int64_t>(tensors.size());
  bool isFinite = pack(parameter, [&](int64_t first, llvm::MutableArrayRef<double> weights) {
    const int64_t number = first / ofTensor; // Groups are parts of rows, and so belong to one
                                             // tensor.
    const TensorEntry &tensor = *tensors[number];
    const FloatKind kind = *floatKindOf(tensor.dtype);
    for (auto [i, weight] : llvm::enumerate(weights))
      weight = readFloat(kind, tensor.bytes.data(),
                         order.placeOf(first + static_cast<int64_t>(i)) - number * ofTensor);
  });
  if (isFinite)
    return llvm::Error::success();
  return llvm::createStringError("a tensor of '" + parameter.name +
                                 "' has an element that is not finite, for which a group in fewer "
                                 "bits has no scale; import the model without --weights");
}

/// Loads what `--save` has written.
llvm::Error ModelBuffers::loadStored(unsigned argument, const TensorEntry &tensor) {
  TensorEntry own = tensorOf(tensor.name, argument);
  if (tensor.dtype != own.dtype || tensor.shape != own.shape)
    return llvm::createStringError("tensor '" + tensor.name +
                                   "' is not what the step holds: its "
                                   "dtype is " +
                                   tensor.dtype + ", expected " + own.dtype +
                                   ", or its shape is another");
  std::memcpy(memory.argument(argument), tensor.bytes.data(), tensor.bytes.size());
  return llvm::Error::success();
}
