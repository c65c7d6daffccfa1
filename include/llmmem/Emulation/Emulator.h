//===- Emulator.h - GPU kernels on the CPU, with every access checked ------===//
//
//   Emulator emulator(program);
//   emulator.addBuffer(arena, bytes, Emulator::Contents::None);
//   emulator.beginStep();
//   ... compiled host code calls the hooks of Hooks.h with &emulator ...
//   if (const Fault *fault = emulator.fault()) ...
//
// Blocks run one after another, and the threads of a block as fibers that change over only where
// they meet: at barriers, shuffles and matrix products of a warp. The first fault ends the launch
// at hand, and further launches do nothing.
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

/// What went wrong, and where.
struct Fault {
  std::string kernel;
  int64_t launch = 0, call = -1;
  std::optional<Triple> block, thread; // none: the launch itself
  std::optional<int64_t> site;         // the op at fault
  std::string message;
  std::optional<int64_t> otherSite; // where the other thread is, in faults of two
  std::string otherMessage;
};

/// Whether llmmem was built with what the emulator needs (Boost.Context).
bool isEmulatorBuilt();

class Emulator {
public:
  /// What a buffer holds at the beginning of a step: nothing that may be read, or given bytes.
  enum class Contents { None, Given };

  explicit Emulator(Program program);
  ~Emulator();

  /// Bytes that launches may touch. Buffers do not overlap.
  void addBuffer(void *begin, int64_t bytes, Contents contents);
  /// Forgets who wrote what.
  void beginStep();
  /// The first fault since the step began.
  const Fault *fault() const;

  class State;
  State &state() { return *impl; }

private:
  std::unique_ptr<State> impl;
};

} // namespace llmmem::emulation

#endif // LLMMEM_EMULATION_EMULATOR_H
