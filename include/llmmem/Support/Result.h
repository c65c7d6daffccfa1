//===- Result.h - A value, or why there is none -----------------------------===//
//
// The planner's public headers return a `Result`, so that a program without LLVM can include them.
// Inside, where LLVM is at hand, llvm::Expected does the same; LlvmResult.h converts.
//
// Example:
//
//   Result<Problem> problem = parseProblem(text);
//   if (!problem)
//     return complain(problem.error());
//   use(*problem);
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_RESULT_H
#define LLMMEM_SUPPORT_RESULT_H

#include <optional>
#include <string>
#include <utility>

namespace llmmem {

/// Says what went wrong, for people: it names the place and the fix.
struct Failure {
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Failure failure) : message(std::move(failure.message)) {}

  /// Returns whether there is a value.
  explicit operator bool() const { return held.has_value(); }
  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

  /// Says why there is no value; empty where there is one.
  const std::string &error() const { return message; }

private:
  std::optional<T> held;
  std::string message;
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_RESULT_H
