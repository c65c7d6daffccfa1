//===- StepMemory.cpp - The buffers of a compiled step ---------------------===//

#include "DeviceBuffers.h"
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

/// Fresh pages of the system are zero without being touched. The heap might hand out used ones, and
/// fill them.
void *StepMemory::allocateZeroed(int64_t bytes) {
  constexpr size_t kAlignment = 256, kMapped = 1 << 16;
  size_t size = std::max<int64_t>(bytes, 1);
  if (size >= kMapped) {
    void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
      return nullptr;
    blocks.emplace_back(pages, Release{size});
    return pages;
  }
  size_t room = size + kAlignment - 1;
  blocks.emplace_back(std::calloc(room, 1), Release{});
  void *first = blocks.back().get();
  return first ? std::align(kAlignment, size, first, room) : nullptr;
}

bool StepMemory::allocateBuffers(const CompiledStep &step, llvm::ArrayRef<void *> shared) {
  bool complete = true;
  auto add = [&](llvm::SmallVector<void *> &list, int64_t bytes) {
    list.push_back(allocateZeroed(bytes));
    complete &= list.back() != nullptr;
    if (onDevice)
      onDevice->add(list.back(), bytes);
  };
  for (auto [number, argument] : llvm::enumerate(step.arguments())) {
    if (!shared.empty() && shared[number]) {
      arguments.push_back(shared[number]);
      continue;
    }
    int64_t bytes = argument.shard.isHere() ? argument.bytes : 0;
    add(arguments, bytes);
    (llm::isOnHost(argument.type) ? onHost : resident) += llvm::alignTo(bytes, 256);
  }
  for (const StepResult &result : step.results()) {
    results.push_back(result.donatedArgument.value_or(step.arguments().size() + ownResults.size()));
    if (!result.donatedArgument)
      add(ownResults, result.bytes);
  }
  return complete;
}

llvm::Error StepMemory::allocateOnHost(const CompiledStep &step) {
  llvm::Expected<ArenaMemory> arena = ArenaMemory::allocate(step.arenaBytes());
  if (!arena)
    return arena.takeError();
  arenaMemory = std::move(*arena);
  llvm::Expected<ArenaMemory> host = ArenaMemory::allocate(step.hostArenaBytes());
  if (!host)
    return host.takeError();
  hostMemory = std::move(*host);
  times.resize(2 * step.profiledCalls().size());
  addresses = {arenaMemory.base()};
  llvm::append_range(addresses, arguments);
  llvm::append_range(addresses, ownResults);
  // The update has the same arguments, and no result that is not donated.
  if (step.updating) {
    updateAddresses = {arenaMemory.base()};
    llvm::append_range(updateAddresses, arguments);
  }
  if (step.takesHostArena)
    addresses.push_back(hostMemory.base());
  if (step.updating && step.updating->takesHostArena)
    updateAddresses.push_back(hostMemory.base());
  if (!times.empty()) {
    addresses.push_back(times.data());
    if (step.updating)
      updateAddresses.push_back(times.data() + times.size() - 2 * step.updating->calls.size());
  }
  if (step.emulated())
    addEmulator(step);
  return llvm::Error::success();
}

/// Adds the buffers of the step to the emulator, which is its last argument.
void StepMemory::addEmulator(const CompiledStep &step) {
  using Contents = emulation::Emulator::Contents;
  emulator = std::make_unique<emulation::Emulator>(step.emulated()->program());
  emulator->addBuffer(arenaMemory.base(), std::max<int64_t>(step.arenaBytes(), 1), Contents::None);
  for (auto [buffer, argument] : llvm::zip_equal(arguments, step.arguments()))
    emulator->addBuffer(buffer, argument.bytes, Contents::Given);
  size_t next = 0;
  for (const StepResult &result : step.results())
    if (!result.donatedArgument)
      emulator->addBuffer(ownResults[next++], result.bytes, Contents::None);
  addresses.push_back(emulator.get());
}

llvm::Error StepMemory::allocateOnDevice(const CompiledStep &step) {
  if (llvm::Error error = onDevice->reserve(step.arenaBytes()))
    return error;
  resident = onDevice->residentBytes();
  auto asPointer = [](uint64_t address) { return reinterpret_cast<void *>(address); };
  // The run is the first argument, known when the step is captured.
  addresses = {nullptr, asPointer(onDevice->cuda().arena())};
  for (unsigned number = 0; number < arguments.size() + ownResults.size(); ++number)
    addresses.push_back(asPointer(onDevice->addressOf(number)));
  return llvm::Error::success();
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step) {
  return allocate(step, {});
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step, const StepMemory &other,
                                                llvm::ArrayRef<std::optional<unsigned>> shared) {
  if (step.cuda())
    return llvm::createStringError("on a GPU two steps cannot share buffers");
  llvm::SmallVector<void *> buffers;
  for (std::optional<unsigned> number : shared)
    buffers.push_back(number ? other.arguments[*number] : nullptr);
  return allocate(step, buffers);
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step,
                                                llvm::ArrayRef<void *> shared) {
  StepMemory memory;
  if (step.cuda())
    memory.onDevice = std::make_unique<DeviceBuffers>(step.cuda());
  if (!memory.allocateBuffers(step, shared))
    return llvm::createStringError("not enough memory for %lld bytes of parameters and inputs",
                                   static_cast<long long>(memory.resident));
  if (llvm::Error error = step.cuda() ? memory.allocateOnDevice(step) : memory.allocateOnHost(step))
    return std::move(error);
  // The packed entry takes a pointer to each parameter, and a parameter is an address.
  for (void *&address : memory.addresses)
    memory.packed.push_back(static_cast<void *>(&address));
  for (void *&address : memory.updateAddresses)
    memory.updatePacked.push_back(static_cast<void *>(&address));
  return std::move(memory);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

void *StepMemory::argument(unsigned number) {
  if (onDevice)
    onDevice->markWritten(number);
  return arguments[number];
}

const void *StepMemory::bytes(unsigned number) const {
  if (onDevice)
    onDevice->fetch(number);
  return number < arguments.size() ? arguments[number] : ownResults[number - arguments.size()];
}

const void *StepMemory::result(unsigned number) const { return bytes(results[number]); }

void StepMemory::clear(unsigned number, int64_t bytes) {
  if (onDevice)
    onDevice->clear(number);
  else
    std::memset(arguments[number], 0, bytes);
}

llvm::Error StepMemory::check() const {
  return onDevice ? onDevice->cuda().check() : llvm::Error::success();
}
