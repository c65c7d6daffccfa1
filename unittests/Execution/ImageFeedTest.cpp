//===- ImageFeedTest.cpp - Files of images, and what is refused of them ----===//

#include "llmmem/Execution/ImageFeed.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

constexpr char kPixels[] = R"("pixels":{"dtype":"F32","shape":[3,1,2,2],"data_offsets":[0,48]})";

/// A file of zeros for pixels and these labels.
SafeTensors fileOf(std::string header, std::vector<int64_t> labels, size_t pixelBytes = 48) {
  header = "{" + header + "}";
  std::string text(8, '\0');
  llvm::support::endian::write64le(text.data(), header.size());
  text += header + std::string(pixelBytes, '\0');
  for (int64_t label : labels) {
    char bytes[8];
    llvm::support::endian::write64le(bytes, static_cast<uint64_t>(label));
    text.append(bytes, sizeof bytes);
  }
  return llvm::cantFail(SafeTensors::parse(llvm::MemoryBuffer::getMemBufferCopy(text)));
}

std::string labelsOf(const std::string &dtype, const std::string &shape) {
  return std::string(kPixels) + R"(,"labels":{"dtype":")" + dtype + R"(","shape":[)" + shape +
         R"(],"data_offsets":[48,72]})";
}

/// Returns the refusal, or nothing.
std::string refusalOf(SafeTensors file, const ImageFeed::Shape &shape) {
  llvm::Expected<ImageFeed> feed = ImageFeed::fromFile("f", std::move(file), shape);
  return feed ? "" : llvm::toString(feed.takeError());
}

const ImageFeed::Shape kShape{2, 0, {1, 2, 2}, 5};

TEST(ImageFeed, TakesImagesWithTheirLabels) {
  EXPECT_EQ(refusalOf(fileOf(labelsOf("I64", "3"), {0, 4, 2}), kShape), "");
}

TEST(ImageFeed, RefusesWhatIsNoClass) {
  EXPECT_EQ(refusalOf(fileOf(labelsOf("I64", "3"), {0, 5, 2}), kShape),
            "'f': label 2, 5, is none of the 5 classes");
  EXPECT_EQ(refusalOf(fileOf(labelsOf("I64", "3"), {-1, 0, 2}), kShape),
            "'f': label 1, -1, is none of the 5 classes");
}

TEST(ImageFeed, RefusesLabelsOfAnotherKind) {
  EXPECT_EQ(refusalOf(fileOf(labelsOf("F64", "3"), {0, 0, 0}), kShape),
            "'f': 'labels' is of F64, expected integers (I64 or I32)");
  EXPECT_EQ(refusalOf(fileOf(labelsOf("I64", "3,1"), {0, 0, 0}), kShape),
            "'f': 'labels' has shape [3, 1], expected one for each of the 3 images");
  EXPECT_EQ(refusalOf(fileOf(kPixels, {}), kShape), "'f' has no tensor 'labels'");
}

TEST(ImageFeed, RefusesImagesOfAnotherSize) {
  EXPECT_EQ(refusalOf(fileOf(labelsOf("I64", "3"), {0, 0, 0}), {2, 0, {3, 2, 2}, 5}),
            "'f': 'pixels' has shape [3, 1, 2, 2], expected images of [3, 2, 2]");
  EXPECT_EQ(refusalOf(fileOf(labelsOf("I64", "3"), {0, 0, 0}), {4, 0, {1, 2, 2}, 5}),
            "'f' has 3 images; one batch needs 4");
}

} // namespace
