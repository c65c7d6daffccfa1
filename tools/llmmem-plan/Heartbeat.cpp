//===- Heartbeat.cpp - Progress messages of a long run ------------------------===//

#include "Heartbeat.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace llmmem::planning {

Heartbeat::Heartbeat() : thread([this] { beat(); }) {}

void Heartbeat::stop() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  ended.notify_all();
  thread.join();
}

void Heartbeat::say(llvm::StringRef activity) {
  std::lock_guard<std::mutex> lock(mutex);
  latest = activity.str();
}

void Heartbeat::beat() {
  constexpr std::chrono::seconds interval(2);
  std::unique_lock<std::mutex> lock(mutex);
  for (int64_t passed = interval.count();; passed += interval.count()) {
    if (ended.wait_for(lock, interval, [this] { return isOver; }))
      return;
    std::string line;
    llvm::raw_string_ostream(line) << '[' << passed << " s] " << latest << '\n';
    llvm::errs() << line;
  }
}

} // namespace llmmem::planning
