//===- Fiber.h - Functions that can be left in the middle ------------------===//
//
//   Fiber fiber(stack);
//   fiber.start(job);    // runs job until it suspends or ends
//   while (!fiber.ended())
//     fiber.resume();
//
// `job` calls suspend() on the fiber that runs it. A fiber that has ended takes the next job.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_FIBER_H
#define LLMMEM_LIB_EMULATION_FIBER_H

#include <cstddef>
#include <functional>
#include <memory>

namespace llmmem::emulation {

class Fiber {
public:
  struct Stack {
    char *top = nullptr;
    size_t bytes = 0;
  };

  explicit Fiber(Stack stack);
  /// Abandons a suspended job: nothing on its stack is destroyed.
  ~Fiber();

  void start(std::function<void()> job);
  void resume();
  void suspend();
  bool ended() const;

private:
  struct Context;
  std::unique_ptr<Context> context;
};

/// Holds equal stacks with guard pages between them, so that an overflow ends the process.
class FiberStacks {
public:
  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks();

  /// Returns false if there is no memory for this number.
  bool allocate(size_t count);
  size_t size() const { return count; }
  Fiber::Stack stack(size_t number) const;

private:
  char *mapping = nullptr;
  size_t count = 0;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_FIBER_H
