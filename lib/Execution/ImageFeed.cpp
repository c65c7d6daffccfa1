//===- ImageFeed.cpp - Batches of images and their labels ------------------===//

#include "llmmem/Execution/ImageFeed.h"
#include "llmmem/Execution/CounterSamples.h"
#include "llmmem/Execution/ModelBuffers.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include <functional>
#include <numeric>

using namespace llmmem;

StepFeed::~StepFeed() = default;

int64_t ImageFeed::Shape::elements() const {
  return std::accumulate(image.begin(), image.end(), int64_t(1), std::multiplies<>());
}

ImageFeed::Shape llmmem::imageShapeOf(const CompiledStep &step, const StepRoles &roles) {
  const StepArgument &pixels = *step.pixels();
  llvm::ArrayRef<int64_t> dims = pixels.type.getShape();
  ImageFeed::Shape shape;
  shape.batch = dims.front() * pixels.shard.parts;
  shape.firstRow = dims.front() * pixels.shard.position();
  shape.image.assign(dims.begin() + 1, dims.end());
  shape.classes = roles.classes;
  return shape;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string textOf(llvm::ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(llvm::map_range(shape, [](int64_t dim) { return std::to_string(dim); }), ", ") +
         "]";
}

llvm::Error ImageFeed::checkPixels(llvm::StringRef file) {
  const TensorEntry *pixels = tensors->find("pixels");
  if (!pixels)
    return llvm::createStringError("'" + file + "' has no tensor 'pixels'");
  if (!floatKindOf(pixels->dtype))
    return llvm::createStringError("'" + file + "': 'pixels' is of " + pixels->dtype +
                                   ", expected floats (F64, F32, BF16 or F16)");
  llvm::ArrayRef<int64_t> dims = pixels->shape;
  if (dims.size() != 4 || dims.drop_front() != llvm::ArrayRef<int64_t>(shape.image))
    return llvm::createStringError("'" + file + "': 'pixels' has shape " + textOf(dims) +
                                   ", expected images of " + textOf(shape.image));
  if (dims.front() >= shape.batch)
    return llvm::Error::success();
  return llvm::createStringError("'" + file + "' has " + llvm::Twine(dims.front()) +
                                 " images; one batch needs " + llvm::Twine(shape.batch));
}

llvm::Error ImageFeed::readLabels(llvm::StringRef file) {
  const TensorEntry *entry = tensors->find("labels");
  if (!entry)
    return llvm::createStringError("'" + file + "' has no tensor 'labels'");
  if (entry->dtype != "I64" && entry->dtype != "I32")
    return llvm::createStringError("'" + file + "': 'labels' is of " + entry->dtype +
                                   ", expected integers (I64 or I32)");
  int64_t images = tensors->find("pixels")->shape.front();
  if (llvm::ArrayRef<int64_t>(entry->shape) != llvm::ArrayRef<int64_t>(images))
    return llvm::createStringError("'" + file + "': 'labels' has shape " + textOf(entry->shape) +
                                   ", expected one for each of the " + llvm::Twine(images) +
                                   " images");
  const char *bytes = entry->bytes.data();
  for (int64_t i = 0; i < images; ++i) {
    int64_t label = entry->dtype == "I64"
                        ? llvm::support::endian::read64le(bytes + 8 * i)
                        : static_cast<int32_t>(llvm::support::endian::read32le(bytes + 4 * i));
    if (label < 0 || label >= shape.classes)
      return llvm::createStringError("'" + file + "': label " + llvm::Twine(i + 1) + ", " +
                                     llvm::Twine(label) + ", is none of the " +
                                     llvm::Twine(shape.classes) + " classes");
    labels.push_back(static_cast<int32_t>(label));
  }
  return llvm::Error::success();
}

llvm::Expected<ImageFeed> ImageFeed::fromFile(llvm::StringRef file, SafeTensors tensors,
                                              Shape shape) {
  ImageFeed feed(std::move(shape));
  feed.tensors = std::move(tensors);
  if (llvm::Error error = feed.checkPixels(file))
    return std::move(error);
  if (llvm::Error error = feed.readLabels(file))
    return std::move(error);
  return std::move(feed);
}

ImageFeed ImageFeed::sampled(uint64_t seed, Shape shape) {
  ImageFeed feed(std::move(shape));
  feed.seed = seed;
  return feed;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

uint64_t ImageFeed::imageAt(int64_t number, int64_t row) const {
  uint64_t place = number * shape.batch + shape.firstRow + row;
  if (!tensors)
    return place;
  uint64_t chosen =
      shuffleSeed ? llmmem_sample_word(streamOf(*shuffleSeed, "images"), place) : place;
  return chosen % labels.size();
}

int32_t ImageFeed::labelOf(uint64_t image) const {
  if (tensors)
    return labels[image];
  return static_cast<int32_t>(llmmem_sample_word(streamOf(seed, "labels"), image) % shape.classes);
}

void ImageFeed::writePixels(ModelBuffers &buffers, unsigned argument, int64_t row,
                            uint64_t image) const {
  FloatKind kind = buffers.kindOf(argument);
  int64_t count = shape.elements();
  auto *to =
      static_cast<char *>(buffers.stepMemory().argument(argument)) + row * count * bytesOf(kind);
  if (tensors) {
    const TensorEntry &pixels = *tensors->find("pixels");
    FloatKind stored = *floatKindOf(pixels.dtype);
    convertFloats(stored, pixels.bytes.data() + image * count * bytesOf(stored), kind, to, count);
    return;
  }
  const uint64_t stream = streamOf(seed, "pixels");
  for (int64_t i = 0; i < count; ++i)
    writeFloat(kind, to, i, 2 * llmmem_sample_uniform(stream, image * count + i) - 1);
}

void ImageFeed::fill(ModelBuffers &buffers, int64_t number) {
  const StepRoles &roles = buffers.argumentRoles();
  if (roles.pixels) {
    int64_t rows = buffers.compiled().arguments()[*roles.pixels].type.getDimSize(0);
    for (int64_t row = 0; row < rows; ++row)
      writePixels(buffers, *roles.pixels, row, imageAt(number, row));
  }
  if (roles.labels)
    for (auto [row, label] : llvm::enumerate(buffers.integers(*roles.labels)))
      label = labelOf(imageAt(number, static_cast<int64_t>(row)));
}

std::string ImageFeed::contentsHash() const {
  return tensors ? tensors->contentsHash() : hashText("noise of seed " + std::to_string(seed));
}
