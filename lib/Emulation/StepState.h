//===- StepState.h - Buffers of a step, and what the host does with them --===//
//
// Each of the emulator's states knows those that it is derived from: a step, the arguments of its
// launch, the blocks that run, what their threads may access, and what overlaps them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_STEPSTATE_H
#define LLMMEM_LIB_EMULATION_STEPSTATE_H

#include "Block.h"
#include "Buffers.h"
#include "HostCopy.h"
#include <array>
#include <deque>
#include <memory>

namespace llmmem::emulation {

class StepState {
public:
  void addBuffer(char *begin, int64_t bytes, Emulator::Contents contents);
  void beginStep();
  void endStep();
  void announce(int64_t number) { call = number; }

  /// Records a call of the runtime that reads, or writes, all bytes.
  void accessByRuntime(char *begin, int64_t bytes, int64_t parameter);

  /// Records a copy between the memories of device and host, or an update on the host, which may be
  /// in flight from here on; and the wait for the first one of a queue.
  void copyHost(HostCopy copy, int64_t direction, bool isStarted);
  void updateOnHost(const HostUpdate &update, bool isStarted);
  void waitForHost(int64_t queue);

  const Site &site(int64_t number) const { return program.sites[number]; }

  /// Keeps the first fault: of a thread in an op or, without a thread, of the launch.
  void fail(const Thread *thread, std::optional<int64_t> site, std::string message,
            std::optional<int64_t> otherSite = {}, std::string otherMessage = {});
  /// Does the same for a call of the runtime.
  void failInRuntime(std::string message);
  const Fault *fault() const { return found ? &*found : nullptr; }

protected:
  explicit StepState(Program program) : program(std::move(program)) {}

  std::string meetsFlight(const HostBytes &bytes, bool writes, int64_t after = -1) const;
  bool mayReadAs(Buffer &buffer, const HostBytes &bytes, int64_t value, const char *verb);
  Buffer *bufferOf(const char *begin, int64_t bytes);

  Program program;
  std::vector<std::unique_ptr<Buffer>> buffers; // by address
  int64_t call = -1;
  std::optional<Fault> found;
  std::array<std::deque<HostFlight>, kHostQueues> flights; // Started, and not waited for.

  // Describe the current launch.
  int64_t launchNumber = 0;
  const Kernel *kernel = nullptr;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_STEPSTATE_H
