//===- Cancellation.h - When the caller wants no answer any more --------------===//
//
// The searches of the planner nest deeply, and a plan that is half searched is of no use: `poll`
// throws, and `plan` catches. Nothing else in llmmem throws; an early return at each of the dozens
// of levels would be as many ways to take half a result for a whole one.
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
  /// `question` may be empty: then nobody cancels.
  explicit Cancellation(std::function<bool()> question) : question(std::move(question)) {}

  /// Says whether the caller wants to stop. It is cheap enough for inner loops: it asks the
  /// question at most every two milliseconds, and not again after a yes.
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
  std::chrono::steady_clock::time_point last; // when the question was last asked
  bool asked = false;
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_CANCELLATION_H
