//===- FromEnvironment.h - How many random problems a test takes -----------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_FROMENVIRONMENT_H
#define LLMMEM_UNITTESTS_PLANNING_FROMENVIRONMENT_H

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cstdlib>

namespace llmmem::planning::test {

/// The number in this variable of the environment, `otherwise` where it is not set. A text that is
/// no number fails the test: `LLMMEM_EXACT_PROBLEMS=1e4` must not pass as a test of one problem.
inline int32_t fromEnvironment(const char *name, int32_t otherwise) {
  const char *text = std::getenv(name);
  if (!text)
    return otherwise;
  int32_t number = otherwise;
  EXPECT_TRUE(llvm::to_integer(text, number, 10))
      << name << " is '" << text << "', expected a number";
  return number;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_FROMENVIRONMENT_H
