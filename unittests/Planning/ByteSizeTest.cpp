//===- ByteSizeTest.cpp - Bytes as people write them ---------------------------===//

#include "llmmem/Support/ByteSize.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

int64_t parsed(llvm::StringRef text) {
  llvm::Expected<int64_t> bytes = parseByteSize(text);
  if (bytes)
    return *bytes;
  ADD_FAILURE() << llvm::toString(bytes.takeError());
  return -1;
}

std::string refused(llvm::StringRef text) {
  llvm::Expected<int64_t> bytes = parseByteSize(text);
  return bytes ? "read as " + std::to_string(*bytes) : llvm::toString(bytes.takeError());
}

TEST(ByteSize, Units) {
  EXPECT_EQ(parsed("40GB"), 40'000'000'000);
  EXPECT_EQ(parsed("37.25GiB"), 39'996'882'944);
  EXPECT_EQ(parsed("123"), 123);
  EXPECT_EQ(parsed(" 1.5 mib "), 1'572'864);
  EXPECT_EQ(parsed("7B"), 7);
  EXPECT_EQ(parsed("9223372036854775807"), INT64_MAX);
}

TEST(ByteSize, FractionsAreExactAndRoundDown) {
  EXPECT_EQ(parsed("0.3GB"), 300'000'000);
  EXPECT_EQ(parsed("0.1KiB"), 102);
  EXPECT_EQ(parsed("1.000000000000001GB"), 1'000'000'000);
}

TEST(ByteSize, RefusalsSayWhatWasExpected) {
  EXPECT_NE(refused("40GX").find("unknown unit 'GX', expected B, kB"), std::string::npos);
  EXPECT_NE(refused("0").find("must be positive"), std::string::npos);
  EXPECT_NE(refused("0.1B").find("fraction"), std::string::npos);
  EXPECT_NE(refused("-1").find("must be positive"), std::string::npos);
  EXPECT_NE(refused("").find("expected a number"), std::string::npos);
  EXPECT_NE(refused("GB").find("expected a number first"), std::string::npos);
  EXPECT_NE(refused("1.GB").find("digits after the point"), std::string::npos);
  EXPECT_NE(refused("1.5").find("needs a unit"), std::string::npos);
  EXPECT_NE(refused("9223372036854775808").find("below 2^63"), std::string::npos);
  EXPECT_NE(refused("9223372036854775807kB").find("below 2^63"), std::string::npos);
}

TEST(ByteSize, ForPeople) {
  EXPECT_EQ(formatByteSize(0), "0 B");
  EXPECT_EQ(formatByteSize(999), "999 B");
  EXPECT_EQ(formatByteSize(1000), "1.00 kB");
  EXPECT_EQ(formatByteSize(999'999), "1.00 MB");
  EXPECT_EQ(formatByteSize(40'000'000'000), "40.00 GB");
  EXPECT_EQ(formatBinaryByteSize(40'000'000'000), "37.25 GiB");
  EXPECT_EQ(formatBinaryByteSize(1023), "1023 B");
  EXPECT_EQ(formatBinaryByteSize(1024), "1.00 KiB");
  EXPECT_EQ(formatBinaryByteSize((int64_t(1) << 20) - 1), "1.00 MiB");
}

} // namespace
