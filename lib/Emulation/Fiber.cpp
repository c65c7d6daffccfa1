//===- Fiber.cpp - Functions that can be left in the middle ----------------===//
//
// Boost.Context saves callee-saved registers and no signal mask, so a switch costs a few
// nanoseconds.
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"
#include <boost/context/fiber.hpp>
#include <sys/mman.h>
#include <unistd.h>

using namespace llmmem::emulation;
namespace context = boost::context;

// Kernels keep values in registers; spills and the hooks stay far below this.
static constexpr size_t kStackBytes = 64 << 10;

namespace {
/// The stack belongs to FiberStacks.
struct NoAllocator {
  context::stack_context allocate() { return {}; }
  void deallocate(context::stack_context &) noexcept {}
};
} // namespace

struct Fiber::Context {
  context::fiber inside, outside; // Where the job continues, and its caller.
  std::function<void()> job;
  bool ended = true;
};

Fiber::Fiber(Stack stack) : context(new Context) {
  context::stack_context memory;
  memory.sp = stack.top;
  memory.size = stack.bytes;
  Context *own = context.get();
  auto runJobs = [own](context::fiber &&caller) {
    own->outside = std::move(caller);
    for (;;) {
      own->ended = true;
      own->outside = std::move(own->outside).resume();
      own->job();
    }
    return std::move(own->outside);
  };
  context->inside =
      context::fiber(std::allocator_arg, context::preallocated(memory.sp, memory.size, memory),
                     NoAllocator(), runJobs);
  resume(); // It runs up to the wait for its first job.
}

Fiber::~Fiber() {
  // Boost unwinds a suspended context by an exception, and compiled kernels have no unwind tables,
  // so the handle of a suspended job (8 bytes) leaks. Its stack belongs to FiberStacks.
  if (!context->ended)
    new context::fiber(std::move(context->inside));
}

void Fiber::start(std::function<void()> job) {
  context->job = std::move(job);
  context->ended = false;
  resume();
}

void Fiber::resume() { context->inside = std::move(context->inside).resume(); }

void Fiber::suspend() { context->outside = std::move(context->outside).resume(); }

bool Fiber::ended() const { return context->ended; }

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

static size_t pageBytes() { return sysconf(_SC_PAGESIZE); }

bool FiberStacks::allocate(size_t wanted) {
  size_t pitch = kStackBytes + pageBytes();
  void *memory =
      mmap(nullptr, wanted * pitch, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  mapping = static_cast<char *>(memory);
  count = wanted;
  for (size_t number = 0; number < count; ++number)
    if (mprotect(mapping + number * pitch + pageBytes(), kStackBytes, PROT_READ | PROT_WRITE) != 0)
      return false;
  return true;
}

FiberStacks::~FiberStacks() {
  if (mapping)
    munmap(mapping, count * (kStackBytes + pageBytes()));
}

Fiber::Stack FiberStacks::stack(size_t number) const {
  return {mapping + (number + 1) * (kStackBytes + pageBytes()), kStackBytes};
}
