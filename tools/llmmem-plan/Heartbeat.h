//===- Heartbeat.h - What a long run is at ------------------------------------===//
//
// Every two seconds a line on stderr with the latest that the planner said it is at, whether a
// stage is one long computation or many short ones. A run of less than two seconds says nothing.
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
  void say(llvm::StringRef stage);
  /// Nothing is printed any more.
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
