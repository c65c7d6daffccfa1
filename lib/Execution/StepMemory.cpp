//===- StepMemory.cpp - The buffers of a compiled step ---------------------===//

#include "DeviceBuffers.h"
#include "llmmem/Execution/CompiledStep.h"

using namespace llmmem;

StepMemory::StepMemory() = default;
StepMemory::StepMemory(StepMemory &&) = default;
StepMemory &StepMemory::operator=(StepMemory &&) = default;
StepMemory::~StepMemory() = default;

//===----------------------------------------------------------------------===//
// Allocating
//===----------------------------------------------------------------------===//

StepMemory::Bytes StepMemory::allocateZeroed(int64_t bytes) {
  size_t size = llvm::alignTo(std::max<int64_t>(bytes, 1), 256);
  void *memory = std::aligned_alloc(256, size);
  if (memory)
    std::memset(memory, 0, size);
  return Bytes(memory);
}

/// On a GPU these are mirrors, and pages that nobody writes should cost nothing.
bool StepMemory::allocateBuffers(const CompiledStep &step) {
  bool complete = true;
  auto add = [&](llvm::SmallVector<Bytes> &list, int64_t bytes) {
    list.push_back(onDevice ? Bytes(std::calloc(std::max<int64_t>(bytes, 1), 1))
                            : allocateZeroed(bytes));
    complete &= list.back() != nullptr;
    if (onDevice)
      onDevice->add(list.back().get(), bytes);
  };
  for (const StepArgument &argument : step.arguments()) {
    add(arguments, argument.bytes);
    resident += llvm::alignTo(argument.bytes, 256);
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
  times.resize(2 * step.profiledCalls().size());
  addresses = {arenaMemory.base()};
  for (const Bytes &argument : arguments)
    addresses.push_back(argument.get());
  for (const Bytes &result : ownResults)
    addresses.push_back(result.get());
  if (!times.empty())
    addresses.push_back(times.data());
  if (step.emulated())
    addEmulator(step);
  return llvm::Error::success();
}

/// The emulator is told what the step may touch, and is its last argument.
void StepMemory::addEmulator(const CompiledStep &step) {
  using Contents = emulation::Emulator::Contents;
  emulator = std::make_unique<emulation::Emulator>(step.emulated()->program());
  emulator->addBuffer(arenaMemory.base(), std::max<int64_t>(step.arenaBytes(), 1), Contents::None);
  for (auto [buffer, argument] : llvm::zip_equal(arguments, step.arguments()))
    emulator->addBuffer(buffer.get(), argument.bytes, Contents::Given);
  size_t next = 0;
  for (const StepResult &result : step.results())
    if (!result.donatedArgument)
      emulator->addBuffer(ownResults[next++].get(), result.bytes, Contents::None);
  addresses.push_back(emulator.get());
}

llvm::Error StepMemory::allocateOnDevice(const CompiledStep &step) {
  if (llvm::Error error = onDevice->reserve(step.arenaBytes()))
    return error;
  resident = onDevice->residentBytes();
  auto asPointer = [](uint64_t address) { return reinterpret_cast<void *>(address); };
  // The run comes first, when the step is captured.
  addresses = {nullptr, asPointer(onDevice->cuda().arena())};
  for (unsigned number = 0; number < arguments.size() + ownResults.size(); ++number)
    addresses.push_back(asPointer(onDevice->addressOf(number)));
  return llvm::Error::success();
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step) {
  StepMemory memory;
  if (step.cuda())
    memory.onDevice = std::make_unique<DeviceBuffers>(step.cuda());
  if (!memory.allocateBuffers(step))
    return llvm::createStringError("not enough memory for %lld bytes of parameters and inputs",
                                   static_cast<long long>(memory.resident));
  if (llvm::Error error = step.cuda() ? memory.allocateOnDevice(step) : memory.allocateOnHost(step))
    return std::move(error);
  // The packed entry takes the place of each parameter, and a parameter is an address.
  for (void *&address : memory.addresses)
    memory.packed.push_back(&address);
  return std::move(memory);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

void *StepMemory::argument(unsigned number) {
  if (onDevice)
    onDevice->noteWritten(number);
  return arguments[number].get();
}

const void *StepMemory::bytes(unsigned number) const {
  if (onDevice)
    onDevice->fetch(number);
  return number < arguments.size() ? arguments[number].get()
                                   : ownResults[number - arguments.size()].get();
}

const void *StepMemory::result(unsigned number) const { return bytes(results[number]); }

void StepMemory::clear(unsigned number, int64_t bytes) {
  if (onDevice)
    onDevice->clear(number);
  else
    std::memset(arguments[number].get(), 0, bytes);
}

llvm::Error StepMemory::check() const {
  return onDevice ? onDevice->cuda().check() : llvm::Error::success();
}
