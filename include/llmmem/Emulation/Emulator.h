//===- Emulator.h - GPU kernels on the CPU, with every access checked ------===//
//
//   Emulator emulator(program);
//   emulator.addBuffer(arena, bytes, Emulator::Contents::None);
//   emulator.beginStep();
//   ... compiled host code calls the hooks of Hooks.h with &emulator ...
//   emulator.endStep();
//   if (const Fault *fault = emulator.fault()) ...
//
// Blocks run one after another. The threads of a block run as fibers that switch only where they
// synchronize: at barriers, shuffles and mma ops of a warp. The first fault ends the current
// launch, and further launches do nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EMULATION_EMULATOR_H
#define LLMMEM_EMULATION_EMULATOR_H

#include "llmmem/Emulation/Program.h"
#include <array>
#include <memory>
#include <optional>

namespace llmmem::emulation {

using Triple = std::array<int64_t, 3>;

/// Says what went wrong, and where.
struct Fault {
  std::string kernel;                  // Empty for a call of the runtime.
  int64_t launch = 0, call = -1;       // Numbers of the program; launch -1 is a call of the
                                       // runtime.
  std::optional<Triple> block, thread; // None means the launch itself.
  std::optional<int64_t> site;         // The op at fault.
  std::string message;
  std::optional<int64_t> otherSite; // The op of the other thread, in faults of two threads.
  std::string otherMessage;
};

/// Returns whether llmmem was built with what the emulator needs (Boost.Context).
bool isEmulatorBuilt();

class Emulator {
public:
  /// Says what a buffer holds at the beginning of a step: undefined or given bytes.
  enum class Contents { None, Given };

  explicit Emulator(Program program);
  ~Emulator();

  /// Adds bytes that launches may access. Buffers do not overlap.
  void addBuffer(void *begin, int64_t bytes, Contents contents);
  /// Forgets all accesses and owners.
  void beginStep();
  /// Ends a step, when the host code has returned. A copy or an update on the host that nothing has
  /// waited for is a fault.
  void endStep();
  /// Returns the first fault since the step began.
  const Fault *fault() const;

  class State;
  State &state() { return *impl; }

private:
  std::unique_ptr<State> impl;
};

} // namespace llmmem::emulation

#endif // LLMMEM_EMULATION_EMULATOR_H
