//===- Heartbeat.h - Progress messages of a long run --------------------------===//
//
// Prints the planner's latest activity on stderr every two seconds, even during one long
// computation. A run of less than two seconds prints nothing.
// The plan does not depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_PLAN_HEARTBEAT_H
#define LLMMEM_TOOLS_LLMMEM_PLAN_HEARTBEAT_H

#include "llvm/ADT/StringRef.h"
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace llmmem::planning {

class Heartbeat {
public:
  Heartbeat();
  ~Heartbeat() { stop(); }
  void say(llvm::StringRef activity);
  /// Stops printing.
  void stop();

private:
  void beat();

  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  std::string latest;
  std::thread thread;
};

} // namespace llmmem::planning

#endif // LLMMEM_TOOLS_LLMMEM_PLAN_HEARTBEAT_H
