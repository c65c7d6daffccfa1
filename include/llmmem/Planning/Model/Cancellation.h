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

/// What `poll` throws.
struct Cancelled {};

/// Belongs to one call of the planner, in one thread.
class Cancellation {
public:
  /// `question` may be empty: then nobody ever cancels.
  explicit Cancellation(std::function<bool()> question) : question(std::move(question)) {}

  /// Whether the caller wants to stop. Cheap enough for inner loops: the question is put at most
  /// every two milliseconds, and not again after a yes.
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
  std::chrono::steady_clock::time_point last; // when it was put
  bool asked = false;
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_CANCELLATION_H
