//===- ImageFeed.h - Batches of images and their labels --------*- C++ -*-===//

#ifndef LLMMEM_EXECUTION_IMAGEFEED_H
#define LLMMEM_EXECUTION_IMAGEFEED_H

#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llmmem/Execution/StepFeed.h"
#include "llmmem/Execution/StepRoles.h"

namespace llmmem {

/// Feeds images in order, restarting at the end, or samples each one independently.
class ImageFeed final : public StepFeed {
public:
  struct Shape {
    int64_t batch = 1, firstRow = 0;     ///< The rows of all ranks, and the first one that this
                                         ///< rank reads.
    llvm::SmallVector<int64_t, 3> image; ///< Channels, height and width.
    int64_t classes = 0;
    int64_t elements() const;
  };

  /// Reads a file with `pixels` [images, channels, height, width] in floats and `labels` [images]
  /// in I64 or I32. Fails where one is missing or has another shape, and at a label that is no
  /// class.
  static llvm::Expected<ImageFeed> fromFile(llvm::StringRef file, SafeTensors tensors, Shape shape);
  /// Samples noise from -1 to 1, as image processors scale pixels, with sampled labels. Image i is
  /// a function of `seed` and i.
  static ImageFeed sampled(uint64_t seed, Shape shape);

  void fill(ModelBuffers &buffers, int64_t number) override;
  void shuffle(uint64_t seed) override { shuffleSeed = seed; }
  int64_t size() const override { return shape.batch; }
  std::string contentsHash() const override;

private:
  explicit ImageFeed(Shape shape) : shape(std::move(shape)) {}

  llvm::Error checkPixels(llvm::StringRef file);
  llvm::Error readLabels(llvm::StringRef file);
  /// Returns the number of an image: of the file, or of all possible ones without a file.
  uint64_t imageAt(int64_t number, int64_t row) const;
  void writePixels(ModelBuffers &buffers, unsigned argument, int64_t row, uint64_t image) const;
  int32_t labelOf(uint64_t image) const;

  Shape shape;
  std::optional<SafeTensors> tensors; ///< None means sampled images.
  std::vector<int32_t> labels;
  uint64_t seed = 0;
  std::optional<uint64_t> shuffleSeed;
};

/// Returns the shape of the batch that a step of images reads.
ImageFeed::Shape imageShapeOf(const CompiledStep &step, const StepRoles &roles);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_IMAGEFEED_H
