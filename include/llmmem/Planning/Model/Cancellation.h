//===- Cancellation.h - Cancelling a call of the planner ----------------------===//
//
// The searches of the planner nest deeply, and a half-finished search has no usable result. So
// `poll` throws, and `plan` catches. Nothing else in llmmem throws. An early return at each of the
// dozens of levels would be as many opportunities to take a partial result for a complete one.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_CANCELLATION_H
#define LLMMEM_PLANNING_MODEL_CANCELLATION_H

#include "llmmem/Support/Export.h"
#include <chrono>
#include <functional>

namespace llmmem::planning {

/// The exception that `poll` throws.
struct Cancelled {};

/// A cancellation belongs to one call of the planner, in one thread.
class Cancellation {
public:
  /// `question` returns whether the caller wants to stop. It may be empty: then the call is never
  /// cancelled.
  explicit Cancellation(std::function<bool()> question) : question(std::move(question)) {}

  /// Returns whether the caller wants to stop. It is cheap enough for inner loops: it calls
  /// `question` at most every two milliseconds, and not again once that has returned true.
  bool isAsked() { return question && (asked || ask()); }

  /// Throws Cancelled where the caller wants to stop.
  void poll() {
    if (isAsked())
      stop();
  }

private:
  LLMMEM_EXPORT bool ask();
  [[noreturn]] LLMMEM_EXPORT static void stop();

  std::function<bool()> question;
  std::chrono::steady_clock::time_point last; // when `question` was last called
  bool asked = false;
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_CANCELLATION_H
