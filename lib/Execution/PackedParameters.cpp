//===- PackedParameters.cpp - Parameters that are held in fewer bits -------===//

#include "ParameterLoader.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/FileOrder.h"
#include <atomic>

using namespace llmmem;

llvm::Error PackedParameter::check(const CompiledStep &step,
                                   const StepRoles::Parameter &parameter) {
  for (std::optional<unsigned> extra : {parameter.scales, parameter.zeros})
    if (const Shard &shard = step.arguments()[extra.value_or(parameter.argument)].shard;
        shard.parts > 1 && !shard.areInOrder())
      return llvm::createStringError(
          "parameter '" + parameter.name +
          "' is held in fewer bits and split over ranks, whose parts are not whole rows; leave "
          "--weights or the split out");
  return llvm::Error::success();
}

PackedBytes PackedParameter::bytesOf() {
  mlir::RankedTensorType type = step.arguments()[parameter.argument].type,
                         scales = step.arguments()[*parameter.scales].type;
  PackedBytes bytes;
  bytes.element = type.getElementType();
  bytes.group = type.getNumElements() / scales.getNumElements();
  bytes.numbers = static_cast<uint8_t *>(buffers.stepMemory().argument(parameter.argument));
  bytes.scaleKind = buffers.kindOf(*parameter.scales);
  bytes.scales = buffers.stepMemory().argument(*parameter.scales);
  if (parameter.zeros)
    bytes.zeros = static_cast<uint8_t *>(buffers.stepMemory().argument(*parameter.zeros));
  return bytes;
}

/// Returns the number in the whole tensor of this rank's first element.
static int64_t firstElementOf(const StepArgument &argument) {
  return argument.shard.position() * argument.type.getNumElements();
}

/// Packs two groups at a time, because two zero points share a byte.
bool PackedParameter::pack(
    llvm::function_ref<void(int64_t first, llvm::MutableArrayRef<double>)> read) {
  const PackedBytes bytes = bytesOf();
  const int64_t groups = step.arguments()[*parameter.scales].type.getNumElements();
  const int64_t begin = firstElementOf(step.arguments()[parameter.argument]);
  std::atomic<bool> isFinite = true;
  auto packPair = [&](int64_t pair) {
    std::vector<double> weights(bytes.group);
    for (int64_t number = 2 * pair; number < std::min(2 * pair + 2, groups); ++number) {
      read(begin + number * bytes.group, weights);
      if (!packGroup(bytes, number, weights))
        isFinite = false;
    }
  };
  parallelFor((groups + 1) / 2, packPair);
  return isFinite;
}

void PackedParameter::sample(uint64_t stream) {
  // These are the numbers without packing, rounded once more.
  const FileOrder order(step.arguments()[parameter.argument]);
  pack([&](int64_t first, llvm::MutableArrayRef<double> weights) {
    for (auto [i, weight] : llvm::enumerate(weights))
      weight = static_cast<float>(
          0.02 * llmmem_sample_normal(stream, order.placeOf(first + static_cast<int64_t>(i))));
  });
}

llvm::Error PackedParameter::load(llvm::ArrayRef<const TensorEntry *> tensors,
                                  llvm::ArrayRef<int64_t> shape) {
  const StepArgument &argument = step.arguments()[parameter.argument];
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
  const int64_t ofTensor = argument.whole.getNumElements() / static_cast<int64_t>(tensors.size());
  bool isFinite = pack([&](int64_t first, llvm::MutableArrayRef<double> weights) {
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
