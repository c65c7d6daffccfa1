//===- Check.h - Comparing results with references in double ---------------===//

#ifndef LLMMEM_UNITTESTS_EXECUTION_CHECK_H
#define LLMMEM_UNITTESTS_EXECUTION_CHECK_H

#include "StepRunner.h"
#include "gtest/gtest.h"
#include <cmath>

namespace llmmem::test {

/// The error of one rounding to `element`, and of sums in its compute type, relative to the largest
/// element.
inline double toleranceOf(const std::string &element) {
  return element == "f64" ? 1e-12 : element == "f32" ? 2e-6 : element == "f16" ? 5.2e-4 : 4.1e-3;
}

inline void expectNear(const Numbers &actual, const Numbers &expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0.0;
  for (double value : expected)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(largest, 1e-3)) << "element " << i;
}

/// Tests with the element type as their parameter.
class KernelTest : public ::testing::TestWithParam<std::string> {
protected:
  std::vector<Numbers> run(const std::string &text, const std::vector<Numbers> &arguments,
                           const RunOptions &options = {}) {
    return runStep(withElement(text, GetParam()), arguments, options);
  }
  double tolerance() const { return toleranceOf(GetParam()); }
  /// The compute type of the element type.
  std::string wide() const { return GetParam() == "f64" ? "f64" : "f32"; }
  /// Does the same as run(), with `W` standing for the compute type.
  std::vector<Numbers> runWide(std::string text, const std::vector<Numbers> &arguments,
                               const RunOptions &options = {}) {
    for (const char *pattern : {"xW>", "<W>"})
      for (size_t at; (at = text.find(pattern)) != std::string::npos;)
        text.replace(at + 1, 1, wide());
    return run(text, arguments, options);
  }
};

#define LLMMEM_ALL_ELEMENT_TYPES(Suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(Types, Suite, ::testing::Values("f32", "bf16", "f64"),                  \
                           [](const auto &info) { return info.param; })

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_EXECUTION_CHECK_H
