//===- Emulator.cpp - Launches, block after block --------------------------===//

#include "llmmem/Emulation/Emulator.h"
#include "State.h"
#include "llmmem/Device/GpuGeometry.h"

using namespace llmmem::emulation;

// These are the limits of a launch on every GPU (CUDA C++ Programming Guide, "Compute
// Capabilities").
static constexpr int64_t kMaxThreads = AccessRecord::kMaxThreads;
static constexpr Triple kMaxBlock = {1024, 1024, 64}, kMaxGrid = {INT32_MAX, 65535, 65535};
static constexpr int64_t kMaxStaticShared = 48 << 10;

std::string llmmem::emulation::textOf(Triple numbers) {
  return "(" + std::to_string(numbers[0]) + ", " + std::to_string(numbers[1]) + ", " +
         std::to_string(numbers[2]) + ")";
}

static int64_t product(Triple sizes) { return sizes[0] * sizes[1] * sizes[2]; }

static int64_t alignTo(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

//===----------------------------------------------------------------------===//
// Buffers and faults
//===----------------------------------------------------------------------===//

void StepState::addBuffer(char *begin, int64_t bytes, Emulator::Contents contents) {
  auto place = std::upper_bound(
      buffers.begin(), buffers.end(), begin,
      [](char *address, const std::unique_ptr<Buffer> &buffer) { return address < buffer->begin; });
  buffers.insert(place, std::make_unique<Buffer>(begin, bytes, contents));
}

void StepState::beginStep() {
  found.reset();
  call = -1;
  for (std::deque<HostFlight> &queue : flights)
    queue.clear();
  for (const std::unique_ptr<Buffer> &buffer : buffers)
    buffer->beginStep();
}

void StepState::fail(const Thread *thread, std::optional<int64_t> site, std::string message,
                     std::optional<int64_t> otherSite, std::string otherMessage) {
  if (found)
    return;
  found.emplace();
  found->kernel = kernel->name;
  found->launch = launchNumber;
  found->call = call;
  if (thread) {
    found->block = thread->blockIds();
    found->thread = thread->threadIds();
  }
  found->site = site;
  found->message = std::move(message);
  found->otherSite = otherSite;
  found->otherMessage = std::move(otherMessage);
}

void StepState::failInRuntime(std::string message) {
  if (found)
    return;
  found.emplace();
  found->launch = -1;
  found->call = call;
  found->message = std::move(message);
}

//===----------------------------------------------------------------------===//
// Arguments of a launch
//===----------------------------------------------------------------------===//

void Emulator::State::launch(int64_t number, KernelFunction function, const uint64_t *words,
                             const int64_t *shape) {
  if (found)
    return;
  launchNumber = number;
  const Launch &launch = program.launches[number];
  kernel = &program.kernels[launch.kernel];
  std::copy_n(shape, 3, grid.begin());
  std::copy_n(shape + 3, 3, block.begin());
  dynamicBytes = shape[6];
  while (static_cast<int64_t>(running.size()) < kernel->clusterBlocks) {
    running.push_back(std::make_unique<RunningBlock>());
    running.back()->rank = static_cast<int64_t>(running.size()) - 1;
  }
  own = running.front().get();
  if (checkShape() && bind(launch, words) && allocateShared() &&
      allocateStacks(kernel->synchronizes ? product(block) : 1))
    runBlocks(function, words);
}

bool Emulator::State::checkShape() {
  auto isWithin = [](Triple sizes, Triple limits) {
    for (int axis = 0; axis < 3; ++axis)
      if (sizes[axis] < 1 || sizes[axis] > limits[axis])
        return false;
    return true;
  };
  if (!isWithin(grid, kMaxGrid))
    fail(nullptr, {}, "a grid of " + textOf(grid) + " blocks, expected 1 to " + textOf(kMaxGrid));
  else if (!isWithin(block, kMaxBlock) || product(block) > kMaxThreads)
    fail(nullptr, {},
         "blocks of " + textOf(block) + " threads, expected 1 to " + std::to_string(kMaxThreads) +
             " in all");
  else if (grid[0] % kernel->clusterBlocks != 0)
    fail(nullptr, {},
         "a grid of " + textOf(grid) + " blocks, expected a multiple of the " +
             std::to_string(kernel->clusterBlocks) + " blocks of a cluster");
  else if (kernel->sharedBytes > kMaxStaticShared)
    fail(nullptr, {},
         std::to_string(kernel->sharedBytes) + " bytes of workgroup attributions, expected " +
             std::to_string(kMaxStaticShared) + " at most");
  else if (dynamicBytes < 0 || kernel->sharedBytes + dynamicBytes > tunedGpu().blockSharedBytes)
    fail(nullptr, {},
         std::to_string(kernel->sharedBytes + dynamicBytes) + " bytes of shared memory, expected " +
             std::to_string(tunedGpu().blockSharedBytes) + " at most");
  return !found;
}

bool LaunchState::bind(const Launch &launch, const uint64_t *words) {
  arguments.assign(kernel->bufferBytes.size(), {});
  for (size_t number = 0; number < arguments.size(); ++number) {
    if (kernel->bufferBytes[number] == 0)
      continue;
    if (!bindArgument(number, reinterpret_cast<char *>(words[number]), kernel->bufferBytes[number]))
      return false;
    takeCallRecord(number, launch);
    const Argument &argument = arguments[number];
    std::string why = meetsFlight({argument.begin, argument.bytes}, argument.writable);
    if (!why.empty()) {
      fail(nullptr, {}, "gets argument " + std::to_string(number) + ", " + why);
      return false;
    }
  }
  watch();
  recordBegins();
  return true;
}

void LaunchState::recordBegins() {
  begins.clear();
  for (size_t number = 0; number < arguments.size(); ++number)
    if (arguments[number].buffer) {
      BeginsHere &here = begins[reinterpret_cast<uint64_t>(arguments[number].begin)];
      (arguments[number].writable ? here.written : here.readOnly) = static_cast<int64_t>(number);
    }
}

/// Returns -1 if no argument begins at `base`.
int64_t LaunchState::argumentAt(const Site &site, int64_t base) const {
  if (site.buffer != kChosenArgument)
    return site.buffer;
  auto found = begins.find(static_cast<uint64_t>(base));
  if (found == begins.end())
    return -1;
  auto [written, readOnly] = found->second;
  if (site.kind == Site::Kind::Write)
    return written >= 0 ? written : readOnly;
  return readOnly >= 0 ? readOnly : written;
}

/// Returns the buffer that has all of the bytes; null if there is none.
Buffer *StepState::bufferOf(const char *begin, int64_t bytes) {
  auto next = std::upper_bound(buffers.begin(), buffers.end(), begin,
                               [](const char *address, const std::unique_ptr<Buffer> &buffer) {
                                 return address < buffer->begin;
                               });
  Buffer *buffer = next == buffers.begin() ? nullptr : std::prev(next)->get();
  return buffer && begin - buffer->begin <= buffer->bytes - bytes ? buffer : nullptr;
}

void StepState::accessByRuntime(char *begin, int64_t bytes, int64_t parameter) {
  if (found)
    return;
  Argument argument;
  argument.begin = begin;
  argument.bytes = bytes;
  argument.buffer = bufferOf(begin, bytes);
  if (!argument.buffer)
    return failInRuntime("accesses " + std::to_string(bytes) +
                         " bytes that do not lie inside a buffer of the step");
  argument.first = begin - argument.buffer->begin;
  if (call >= 0 && parameter >= 0) {
    const Call &record = program.calls[call];
    argument.value = static_cast<int32_t>(record.values[parameter]);
    argument.writable = record.writes[parameter];
  }
  if (std::string why = meetsFlight({begin, bytes}, argument.writable); !why.empty())
    return failInRuntime("accesses bytes " + why);
  if (argument.writable) {
    std::fill_n(argument.buffer->owners.begin() + argument.first, bytes, argument.value);
    return;
  }
  int64_t byte = argument.firstTaken(0, bytes);
  if (byte >= 0)
    failInRuntime("reads byte " + std::to_string(byte) + " of parameter " +
                  std::to_string(parameter) + " as value " + std::to_string(argument.value) +
                  ", which does not hold it");
}

bool LaunchState::bindArgument(size_t number, char *begin, int64_t bytes) {
  Buffer *buffer = bufferOf(begin, bytes);
  if (!buffer) {
    fail(nullptr, {},
         "argument " + std::to_string(number) + " of " + std::to_string(bytes) +
             " bytes does not lie inside a buffer of the step");
    return false;
  }
  arguments[number].begin = begin;
  arguments[number].bytes = bytes;
  arguments[number].buffer = buffer;
  arguments[number].first = begin - buffer->begin;
  return true;
}

/// Reads what the call of the host function says about the parameter that this argument is.
void LaunchState::takeCallRecord(size_t number, const Launch &launch) {
  int64_t parameter = launch.parameters[number];
  if (call < 0 || parameter < 0)
    return;
  const Call &record = program.calls[call];
  if (parameter < static_cast<int64_t>(record.values.size()))
    arguments[number].value = static_cast<int32_t>(record.values[parameter]);
  arguments[number].writable = record.writes[parameter];
}

/// Most arguments are only read, and all their bytes belong to the expected value. Checking them
/// once saves a check at each access.
void LaunchState::watch() {
  for (Argument &argument : arguments) {
    if (!argument.buffer)
      continue;
    argument.watched = std::any_of(arguments.begin(), arguments.end(), [&](const Argument &other) {
      return other.writable && other.overlaps(argument);
    });
    argument.asksOwners =
        argument.value >= 0 && (argument.watched || argument.firstTaken(0, argument.bytes) >= 0);
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

bool Emulator::State::allocateShared() {
  constexpr int64_t alignment = 1024;
  sharedBytes = kernel->sharedBytes + dynamicBytes;
  for (int64_t number = 0; number < kernel->clusterBlocks; ++number) {
    RunningBlock &each = *running[number];
    if (sharedBytes <= each.shared.capacity)
      continue;
    int64_t bytes = each.shared.capacity = alignTo(sharedBytes, alignment);
    each.shared.bytes.reset(static_cast<char *>(std::aligned_alloc(alignment, bytes)));
    each.history = AccessHistory(bytes);
    each.copies = AsyncCopies(bytes);
    each.multiplies = AsyncMultiplies(bytes);
    if (!each.shared.bytes)
      fail(nullptr, {}, "no memory for the shared memory of a block");
  }
  if (!bulkCopies.holds(sharedBytes, kernel->clusterBlocks))
    bulkCopies = BulkCopies(alignTo(sharedBytes, alignment), kernel->clusterBlocks);
  return !found;
}

bool Emulator::State::allocateStacks(size_t count) {
  for (int64_t number = 0; number < kernel->clusterBlocks; ++number) {
    RunningBlock &each = *running[number];
    if (each.stacks.size() == 0 && !each.stacks.allocate(kMaxThreads))
      fail(nullptr, {}, "no memory for the stacks of threads");
    while (!found && each.fibers.size() < count)
      each.fibers.push_back(std::make_unique<Fiber>(each.stacks.stack(each.fibers.size())));
  }
  return !found;
}

void Emulator::State::runBlocks(KernelFunction function, const uint64_t *words) {
  if (time > UINT32_MAX / 2) {
    // Records of earlier launches are not needed, so it drops them before time wraps.
    for (const std::unique_ptr<Buffer> &buffer : buffers)
      buffer->history.forget();
    for (const std::unique_ptr<RunningBlock> &each : running)
      each->history.forget();
    time = 0;
  }
  launchTime = ++time;
  clusterTimes = {launchTime, {-1}};
  blockTimes.clear();
  for (int64_t number = 0; number < kernel->clusterBlocks; ++number)
    prepareThreads(*running[number]);
  bulkCopies.forget(running.front()->threads.size());
  if (!kernel->synchronizes) {
    runThreadsSequentially(function, words, product(grid));
    return;
  }
  std::vector<Block> runners(kernel->clusterBlocks, Block(*this, function, words));
  for (int64_t first = 0; first < product(grid) && !found; first += kernel->clusterBlocks) {
    beginCluster(first);
    runCluster(runners);
  }
  // Fibers that are suspended inside a kernel cannot take another job.
  if (found)
    for (const std::unique_ptr<RunningBlock> &each : running)
      each->fibers.clear();
}

void Emulator::State::prepareThreads(RunningBlock &each) {
  each.threads.assign(kernel->synchronizes ? product(block) : 1, {});
  each.warpBarriers.assign(alignTo(product(block), kWarp) / kWarp, 0);
  for (size_t number = 0; number < each.threads.size(); ++number) {
    each.threads[number].emulator = this;
    each.threads[number].fiber = each.fibers[number].get();
  }
}

static void setIds(int64_t *ids, int64_t linear, Triple sizes) {
  Triple numbers = idsIn(linear, sizes);
  std::copy(numbers.begin(), numbers.end(), ids);
}

void Emulator::State::beginBlock(RunningBlock &each, int64_t number) {
  each.now = {};
  each.now.launch = launchTime;
  each.begun = each.now.block = each.now.epoch = nextTime(static_cast<int32_t>(number));
  blockTimes.push_back(each.now.block);
  std::fill(each.warpBarriers.begin(), each.warpBarriers.end(), 0);
  each.copies.forget();
  // A kernel without wgmma may still fence and wait for it.
  each.multiplies.forget(each.threads.size());
  for (size_t index = 0; index < each.threads.size(); ++index) {
    Thread &thread = each.threads[index];
    thread.number = index;
    setIds(thread.thread, index, block);
    setIds(thread.block, number, grid);
    std::copy_n(block.begin(), 3, thread.blockSize);
    std::copy_n(grid.begin(), 3, thread.gridSize);
    thread.shared = each.shared.bytes.get();
    thread.dynamicBytes = dynamicBytes;
    thread.record = AccessRecord::of(each.now.epoch, 0, index);
  }
}

/// If threads never synchronize, one fiber runs them all; it is needed only to leave a thread after
/// a fault.
bool Emulator::State::runThreadsSequentially(KernelFunction function, const uint64_t *words,
                                             int64_t blocks) {
  Thread &thread = own->threads.front();
  own->fibers.front()->start([&] {
    for (int64_t number = 0; number < blocks; ++number) {
      beginBlock(*own, number);
      for (int64_t index = 0; index < product(block); ++index) {
        thread.number = index;
        setIds(thread.thread, index, block);
        thread.record = AccessRecord::of(own->now.epoch, 0, index);
        function(&thread, words);
      }
    }
  });
  if (found)
    own->fibers.clear();
  return !found;
}

void BlockState::passBarrier() {
  mbarriers().passBarrier(own->rank, 1);
  own->now.epoch = nextTime(own->now.own);
  std::fill(own->warpBarriers.begin(), own->warpBarriers.end(), 0);
  for (Thread &thread : own->threads)
    thread.record = AccessRecord::of(own->now.epoch, 0, thread.number);
}

void BlockState::passWarpBarrier(Thread *warp, size_t size) {
  uint32_t &passed = own->warpBarriers[warp->number / kWarp];
  passed = std::min(passed + 1, AccessRecord::kMaxWarpBarriers - 1);
  for (size_t lane = 0; lane < size; ++lane)
    warp[lane].record = AccessRecord::of(own->now.epoch, passed, warp[lane].number);
}

//===----------------------------------------------------------------------===//
// The public interface
//===----------------------------------------------------------------------===//

bool llmmem::emulation::isEmulatorBuilt() { return true; }

Emulator::Emulator(Program program) : impl(new State(std::move(program))) {}
Emulator::~Emulator() = default;

void Emulator::addBuffer(void *begin, int64_t bytes, Contents contents) {
  impl->addBuffer(static_cast<char *>(begin), bytes, contents);
}

void Emulator::beginStep() { impl->beginStep(); }
void Emulator::endStep() { impl->endStep(); }
const Fault *Emulator::fault() const { return impl->fault(); }
