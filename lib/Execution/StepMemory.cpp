//===- StepMemory.cpp - The buffers of a compiled step ---------------------===//

#include "DeviceBuffers.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Execution/CompiledStep.h"
#include <sys/mman.h>

using namespace llmmem;

StepMemory::StepMemory() = default;
StepMemory::StepMemory(StepMemory &&) = default;
StepMemory &StepMemory::operator=(StepMemory &&) = default;
StepMemory::~StepMemory() = default;

//===----------------------------------------------------------------------===//
// Allocating
//===----------------------------------------------------------------------===//

void StepMemory::Release::operator()(void *bytes) const {
  if (mapped > 0)
    munmap(bytes, mapped);
  else
    std::free(bytes);
}

/// Fresh pages of the system are zero without being touched. The heap might return used ones, and
/// fill them.
void *StepMemory::allocateZeroed(int64_t bytes, bool wholePages) {
  constexpr size_t kMapped = 1 << 16, kHugePage = 2 << 20;
  size_t size = std::max<int64_t>(bytes, 1);
  if (wholePages || size >= kMapped) {
    void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
      return nullptr;
    blocks.emplace_back(pages, Release{size});
    // Huge pages help where the system has them: a step reads each weight once, and walks a table
    // for each page.
    if (size >= kHugePage)
      madvise(pages, size, MADV_HUGEPAGE);
    return pages;
  }
  size_t room = size + kArenaAlignment - 1;
  blocks.emplace_back(std::calloc(room, 1), Release{});
  void *first = blocks.back().get();
  return first ? std::align(kArenaAlignment, size, first, room) : nullptr;
}

bool StepMemory::allocateBuffers(const CompiledStep &step, const Shared &shared) {
  bool complete = true;
  auto add = [&](llvm::SmallVector<void *> &list, int64_t bytes, bool liesOnHost = false) {
    list.push_back(allocateZeroed(bytes, /*wholePages=*/onDevice && liesOnHost));
    complete &= list.back() != nullptr;
    if (onDevice)
      numbersOnDevice.push_back(liesOnHost ? onDevice->addOnHost(list.back(), bytes)
                                           : onDevice->add(list.back(), bytes));
  };
  for (auto [number, argument] : llvm::enumerate(step.arguments())) {
    if (std::optional<unsigned> known = shared.find(number)) {
      arguments.push_back(shared.other->arguments[*known]);
      if (onDevice)
        numbersOnDevice.push_back(shared.other->numbersOnDevice[*known]);
      continue;
    }
    int64_t bytes = argument.shard.isHere() ? argument.bytes : 0;
    const bool liesOnHost = llm::isOnHost(argument.type);
    add(arguments, bytes, liesOnHost);
    (liesOnHost ? onHost : resident) += llvm::alignTo(bytes, kArenaAlignment);
  }
  for (const StepResult &result : step.results()) {
    results.push_back(result.donatedArgument.value_or(step.arguments().size() + ownResults.size()));
    if (!result.donatedArgument)
      add(ownResults, result.bytes);
  }
  return complete;
}

llvm::Error StepMemory::allocateArenas(const CompiledStep &step) {
  llvm::Expected<ArenaMemory> host = ArenaMemory::allocate(step.hostArenaBytes());
  if (!host)
    return host.takeError();
  arenas.host = std::move(*host);
  if (onDevice) {
    if (llvm::Error error = onDevice->reserve(step.arenaBytes()))
      return error;
    return step.hostArenaBytes() > 0 ? onDevice->pin(arenas.host.base(), step.hostArenaBytes())
                                     : llvm::Error::success();
  }
  llvm::Expected<ArenaMemory> arena = ArenaMemory::allocate(step.arenaBytes());
  if (!arena)
    return arena.takeError();
  arenas.own = std::move(*arena);
  return llvm::Error::success();
}

StepCall StepMemory::callOf(const CompiledStep &function, size_t firstCall, size_t calls) {
  StepCall call;
  call.times = llvm::MutableArrayRef<int64_t>(this->calls.times).slice(2 * firstCall, 2 * calls);
  // An update has the arguments of the step, and no result that is not donated.
  size_t own = llvm::count_if(function.results(),
                              [](const StepResult &result) { return !result.donatedArgument; });
  if (onDevice) {
    // These are the run, the arena and the buffers, which are known when the function is captured.
    call.addresses.resize(2 + arguments.size() + own);
    if (function.takesHostArena())
      call.addresses.push_back(arenas.host.base());
  } else {
    call.addresses = {arenas.own.base()};
    llvm::append_range(call.addresses, arguments);
    llvm::append_range(call.addresses, llvm::ArrayRef(ownResults).take_front(own));
    if (function.takesHostArena())
      call.addresses.push_back(arenas.host.base());
    if (calls > 0)
      call.addresses.push_back(call.times.data());
    if (function.emulated())
      addEmulator(function, call);
  }
  // The packed entry takes a pointer to each parameter, and a parameter is an address.
  for (void *&address : call.addresses)
    call.packed.push_back(static_cast<void *>(&address));
  return call;
}

void StepMemory::locateOnDevice(const CompiledStep &function, StepCall &call) const {
  auto asPointer = [](uint64_t address) { return reinterpret_cast<void *>(address); };
  size_t count = call.addresses.size() - 2 - (function.takesHostArena() ? 1 : 0);
  call.addresses[1] = asPointer(onDevice->cuda().arena());
  for (auto [number, onDevices] :
       llvm::enumerate(llvm::ArrayRef(numbersOnDevice).take_front(count)))
    call.addresses[2 + number] = asPointer(onDevice->addressOf(onDevices));
}

/// Adds the buffers of the function to the emulator, which is its last argument.
void StepMemory::addEmulator(const CompiledStep &function, StepCall &call) {
  using Contents = emulation::Emulator::Contents;
  call.emulator = std::make_unique<emulation::Emulator>(function.emulated()->program());
  call.emulator->addBuffer(arenas.own.base(), std::max<int64_t>(function.arenaBytes(), 1),
                           Contents::None);
  for (auto [buffer, argument] : llvm::zip_equal(arguments, function.arguments()))
    call.emulator->addBuffer(buffer, argument.bytes, Contents::Given);
  if (function.takesHostArena())
    call.emulator->addBuffer(arenas.host.base(), function.hostArenaBytes(), Contents::None);
  size_t next = 0;
  for (const StepResult &result : function.results())
    if (!result.donatedArgument)
      call.emulator->addBuffer(ownResults[next++], result.bytes, Contents::None);
  call.addresses.push_back(call.emulator.get());
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step) {
  return allocate(step, {});
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step, const StepMemory &other,
                                                llvm::ArrayRef<std::optional<unsigned>> shared) {
  return allocate(step, Shared{&other, shared});
}

/// What is pinned must exist as long as `other` does, so that one owns it, or both do.
llvm::Error StepMemory::placeOnDevice(const CompiledStep &step, const Shared &shared) {
  if (!shared.other) {
    onDevice = std::make_shared<DeviceBuffers>(step.cuda());
    return llvm::Error::success();
  }
  onDevice = shared.other->onDevice;
  if (!onDevice || &onDevice->cuda() != step.cuda().get())
    return llvm::createStringError("steps share buffers on one GPU, which both are compiled for");
  bool isPinned = step.hostArenaBytes() > 0;
  for (auto [number, argument] : llvm::enumerate(step.arguments()))
    isPinned |= llm::isOnHost(argument.type) && !shared.find(number);
  if (isPinned)
    return llvm::createStringError("on a GPU the step that shares another's buffers has no bytes "
                                   "of its own on the host: plan it without --host-budget, or run "
                                   "the other step alone");
  return llvm::Error::success();
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step, const Shared &shared) {
  StepMemory memory;
  if (step.cuda())
    if (llvm::Error error = memory.placeOnDevice(step, shared))
      return std::move(error);
  int64_t before = memory.onDevice ? memory.onDevice->residentBytes() : 0;
  if (!memory.allocateBuffers(step, shared))
    return llvm::createStringError("not enough memory for %lld bytes of parameters and inputs",
                                   static_cast<long long>(memory.resident));
  if (memory.onDevice)
    memory.resident = memory.onDevice->residentBytes() - before;
  if (llvm::Error error = memory.allocateArenas(step))
    return std::move(error);
  memory.calls.times.resize(2 * step.calls.size());
  size_t updateCalls = step.updating ? step.updating->calls.size() : 0;
  size_t stepCalls = step.calls.size() - updateCalls;
  memory.calls.step = memory.callOf(step, 0, stepCalls);
  if (step.updating)
    memory.calls.update = memory.callOf(*step.updating, stepCalls, updateCalls);
  return std::move(memory);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

void *StepMemory::argument(unsigned number) {
  if (onDevice)
    onDevice->markWritten(numbersOnDevice[number]);
  return arguments[number];
}

const void *StepMemory::bytes(unsigned number) const {
  if (onDevice)
    onDevice->fetch(numbersOnDevice[number]);
  return number < arguments.size() ? arguments[number] : ownResults[number - arguments.size()];
}

const void *StepMemory::result(unsigned number) const { return bytes(results[number]); }

void StepMemory::clear(unsigned number, int64_t bytes) {
  if (onDevice)
    onDevice->clear(numbersOnDevice[number]);
  else
    std::memset(arguments[number], 0, bytes);
}

llvm::Error StepMemory::check() const {
  return onDevice ? onDevice->cuda().check() : llvm::Error::success();
}
