//===- Block.cpp - The threads of a block and their synchronization -------===//
//
// Each thread of a warp runs until it synchronizes, then the next one runs. When all threads wait
// at the same op of the warp they continue together. When no warp can continue, all must wait at
// the same barrier or have ended.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

void Block::begin(std::vector<Thread> &all) {
  threads = &all;
  for (Thread &thread : all)
    thread.status = Thread::Status::New;
}

void Block::release() {
  for (Thread &thread : *threads)
    thread.status = Thread::Status::Ready;
}

Block::Progress Block::run() {
  std::vector<Thread> &all = *threads;
  moved = std::any_of(all.begin(), all.end(), [](const Thread &thread) {
    return thread.status == Thread::Status::New || thread.status == Thread::Status::Ready;
  });
  for (;;) {
    for (size_t first = 0; first < all.size(); first += kWarp)
      if (!runWarp(first))
        return Progress::Faulty;
    bool proceeds = false;
    for (size_t first = 0; first < all.size(); first += kWarpgroup)
      proceeds |= synchronizeWarpgroup(first);
    proceeds |= endWaitsForPhases();
    if (emulator.fault())
      return Progress::Faulty;
    moved |= proceeds;
    if (proceeds)
      continue;
    if (std::all_of(all.begin(), all.end(),
                    [](const Thread &thread) { return thread.status == Thread::Status::Ended; }))
      return emulator.mayEndBlock(all.front()) ? Progress::Ended : Progress::Faulty;
    if (waitsForCluster())
      return Progress::WaitsForCluster;
    if (waitsForPhase())
      return Progress::WaitsForPhase;
    if (!synchronizeBlock())
      return Progress::Faulty;
    moved = true;
  }
}

void Block::proceed(Thread &thread) {
  if (thread.status == Thread::Status::Ready)
    thread.fiber->resume();
  if (thread.status == Thread::Status::New)
    thread.fiber->start([this, &thread] {
      kernel(&thread, arguments);
      thread.status = Thread::Status::Ended;
    });
}

/// Runs a warp until all its threads wait for other warps or have ended.
bool Block::runWarp(size_t first) {
  Thread *warp = threads->data() + first;
  size_t size = std::min<size_t>(kWarp, threads->size() - first);
  do {
    for (size_t lane = 0; lane < size; ++lane) {
      proceed(warp[lane]);
      if (emulator.fault())
        return false;
    }
  } while (synchronizeWarp(warp, size));
  return true;
}

/// Lets threads that wait for lanes of their warp continue if all of these lanes have arrived.
bool Block::synchronizeWarp(Thread *warp, size_t size) {
  auto waiting = std::find_if(warp, warp + size, [](const Thread &thread) {
    return thread.status == Thread::Status::Waits && thread.lanes > 0;
  });
  if (waiting == warp + size || static_cast<size_t>(waiting->lanes) > size)
    return false;
  int64_t number = waiting->site;
  int lanes = waiting->lanes;
  for (int lane = 0; lane < lanes; ++lane)
    if (warp[lane].status != Thread::Status::Waits || warp[lane].site != number ||
        warp[lane].lanes != lanes)
      return false;
  const Site &site = emulator.site(number);
  if (site.kind == Site::Kind::Shuffle)
    shuffle(warp, lanes, site.shuffle);
  if (site.kind == Site::Kind::WarpBarrier)
    emulator.passWarpBarrier(warp, size);
  if (site.matrices > 0)
    loadMatrices(warp, site.matrices, site.transposed);
  if (site.kind == Site::Kind::Mma) {
    std::array<Fragments *, kWarp> fragments;
    for (int lane = 0; lane < kWarp; ++lane)
      fragments[lane] = warp[lane].fragments;
    multiplyFragments(fragments);
  }
  for (int lane = 0; lane < lanes; ++lane)
    warp[lane].status = Thread::Status::Ready;
  return true;
}

/// Lets the threads of a warpgroup continue if all of them have arrived at one wgmma.
bool Block::synchronizeWarpgroup(size_t first) {
  if (first + kWarpgroup > threads->size())
    return false;
  Thread *group = threads->data() + first;
  for (int lane = 0; lane < kWarpgroup; ++lane)
    if (group[lane].status != Thread::Status::Waits || group[lane].lanes != kWarpgroup ||
        group[lane].site != group->site)
      return false;
  if (!emulator.multiply(group, group->site))
    return false;
  for (int lane = 0; lane < kWarpgroup; ++lane)
    group[lane].status = Thread::Status::Ready;
  return true;
}

/// Lets threads continue that wait for a phase which has ended.
bool Block::endWaitsForPhases() {
  bool proceeds = false;
  for (Thread &thread : *threads)
    if (thread.status == Thread::Status::Waits && thread.barrier &&
        emulator.hasPhaseEnded(thread.barrier, thread.parity)) {
      thread.status = Thread::Status::Ready;
      proceeds = true;
    }
  return proceeds;
}

/// Returns whether all threads have arrived at one barrier of the cluster.
bool Block::waitsForCluster() const {
  int64_t site = threads->front().site;
  return emulator.site(site).kind == Site::Kind::ClusterBarrier &&
         std::all_of(threads->begin(), threads->end(), [&](const Thread &thread) {
           return thread.status == Thread::Status::Waits && thread.site == site;
         });
}

Thread *Block::waitsForPhase() const {
  auto found = std::find_if(threads->begin(), threads->end(), [](const Thread &thread) {
    return thread.status == Thread::Status::Waits && thread.barrier;
  });
  return found == threads->end() ? nullptr : &*found;
}

void Block::reportEndlessWait() { emulator.reportEndlessWait(*waitsForPhase()); }

bool Block::synchronizeBlock() {
  for (Thread &thread : *threads) {
    bool inWarp = thread.status == Thread::Status::Waits && thread.lanes > 0;
    if (inWarp) {
      reportMissing(thread);
      return false;
    }
  }
  const Thread &waiting = *std::find_if(threads->begin(), threads->end(), [](const Thread &thread) {
    return thread.status == Thread::Status::Waits;
  });
  for (const Thread &thread : *threads)
    if (thread.status != Thread::Status::Waits || thread.site != waiting.site) {
      auto [where, site] = whereabouts(thread);
      emulator.fail(&waiting, waiting.site,
                    "waits at a barrier that thread " + textOf(thread.threadIds()) +
                        " does not reach: it " + where,
                    site, "where thread " + textOf(thread.threadIds()) + " waits");
      return false;
    }
  emulator.passBarrier();
  release();
  return true;
}

/// Reports why the lanes that `waiting` waits for do not arrive.
void Block::reportMissing(const Thread &waiting) {
  bool isOfWarp = waiting.lanes <= kWarp;
  size_t first = waiting.number - waiting.number % (isOfWarp ? kWarp : kWarpgroup);
  std::string wants = "waits for lanes 0 to " + std::to_string(waiting.lanes - 1) +
                      (isOfWarp ? " of its warp, " : " of its warpgroup, ");
  for (size_t number = first; number < first + waiting.lanes; ++number) {
    if (number >= threads->size()) {
      emulator.fail(&waiting, waiting.site,
                    wants + "which has " + std::to_string(threads->size() - first) + " lanes");
      return;
    }
    const Thread &thread = (*threads)[number];
    if (thread.status == Thread::Status::Waits && thread.site == waiting.site &&
        thread.lanes == waiting.lanes)
      continue;
    auto [where, site] = whereabouts(thread);
    std::string lane = std::to_string(number - first);
    emulator.fail(&waiting, waiting.site,
                  wants + "but lane " + lane + " does not arrive: it " + where, site,
                  "where lane " + lane + " waits");
    return;
  }
}

std::pair<std::string, std::optional<int64_t>> Block::whereabouts(const Thread &thread) const {
  if (thread.status == Thread::Status::Ended)
    return {"has ended", std::nullopt};
  return {"waits elsewhere", thread.site};
}

//===----------------------------------------------------------------------===//
// Matrices and shuffles
//===----------------------------------------------------------------------===//

void llmmem::emulation::loadMatrices(Thread *warp, int matrices, bool transposed) {
  for (int lane = 0; lane < kWarp; ++lane)
    for (int matrix = 0; matrix < matrices; ++matrix) {
      uint32_t word = 0;
      for (int half : {0, 1}) {
        int pair = lane % 4 * 2 + half, group = lane / 4;
        auto [row, column] = transposed ? std::pair(pair, group) : std::pair(group, pair);
        uint16_t element;
        std::memcpy(&element, warp[8 * matrix + row].row + 2 * column, sizeof element);
        word |= uint32_t(element) << (16 * half);
      }
      warp[lane].words[matrix] = word;
    }
}

void llmmem::emulation::shuffle(Thread *warp, int lanes, Site::Shuffle mode) {
  std::array<uint64_t, kWarp> bits;
  for (int lane = 0; lane < lanes; ++lane)
    bits[lane] = warp[lane].value.bits;
  for (int lane = 0; lane < lanes; ++lane) {
    int64_t source = lane, offset = warp[lane].offset & (kWarp - 1); // shfl.sync masks it so.
    switch (mode) {
    case Site::Shuffle::Xor:
      source = lane ^ offset;
      break;
    case Site::Shuffle::Down:
      source = lane + offset;
      break;
    case Site::Shuffle::Up:
      source = lane - offset;
      break;
    case Site::Shuffle::Idx:
      source = offset;
      break;
    }
    bool valid = source >= 0 && source < lanes;
    // A lane whose source does not exist gets its own value.
    warp[lane].value = {bits[valid ? source : lane], valid};
  }
}
