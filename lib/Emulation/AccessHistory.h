//===- AccessHistory.h - Who touched each byte, and whether it is a race ---===//
//
// Two accesses of one byte, one of them a write, are ordered where one thread makes both, or where
// a barrier of their block or of their warp lies between them. Everything else in one launch is a
// race, in whatever order the emulator runs blocks and threads. Blocks of a cluster run
// concurrently, and what precedes a barrier of the cluster is ordered before what follows it.
//
// Time is one counter that increases at each launch, each block and each barrier of a block. So a
// record has 8 bytes: the time of the last access, its thread, and how many barriers of the warp
// that thread had passed since. For each byte there are two records, of the last write and of the
// last reads. No two blocks share a time.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_ACCESSHISTORY_H
#define LLMMEM_LIB_EMULATION_ACCESSHISTORY_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace llmmem::emulation {

/// Says which block each time of a launch belongs to, where blocks run concurrently.
struct BlocksByTime {
  uint32_t begin = 0;
  std::vector<int32_t> blocks;

  int32_t at(uint32_t time) const { return blocks[time - begin]; }
};

/// Holds when the current launch, the current block and its epoch (since the last barrier) began.
struct Now {
  /// In a cluster, `block` is when the first of its blocks began.
  uint32_t launch = 0, block = 0, epoch = 0;
  /// In a cluster, says when its blocks last met at a barrier, 0 if never, and which times belong
  /// to which block.
  uint32_t met = 0;
  const BlocksByTime *others = nullptr;
  int32_t own = 0;

  /// Applies to a time since `block`.
  bool isOfOther(uint32_t time) const { return others && others->at(time) != own; }
};

/// Packs time, barriers of the warp, thread, and for reads whether several threads read. Later
/// times are larger numbers; 0 means never.
class AccessRecord {
public:
  static constexpr uint64_t kSeveralThreads = 1, kSeveralWarps = 2, kSeveralBlocks = 4,
                            kSeveralOfCluster = 8;
  static constexpr uint32_t kMaxThreads = 1024, kMaxWarpBarriers = 1 << 18;

  constexpr AccessRecord(uint64_t bits = 0) : bits(bits) {}
  static AccessRecord of(uint32_t time, uint32_t warpBarriers, uint32_t thread) {
    return uint64_t(time) << 32 | uint64_t(warpBarriers) << 14 | uint64_t(thread) << 4;
  }
  /// Records of this time or later are at least this number.
  static uint64_t since(uint32_t time) { return uint64_t(time) << 32; }

  uint64_t value() const { return bits; }
  uint32_t time() const { return bits >> 32; }
  uint32_t warpBarriers() const { return bits >> 14 & (kMaxWarpBarriers - 1); }
  uint32_t thread() const { return bits >> 4 & (kMaxThreads - 1); }
  uint32_t warp() const { return thread() / 32; }
  bool has(uint64_t flag) const { return bits & flag; }
  AccessRecord with(uint64_t flags) const { return bits | flags; }
  uint64_t flags() const { return bits & 15; }

  /// Returns whether this access is ordered before one by `next` that happens now.
  bool isBefore(AccessRecord next, Now now) const {
    if (time() < now.launch)
      return true;
    if (has(kSeveralBlocks) || time() < now.block)
      return false;
    if (time() < now.met)
      return true;
    if (has(kSeveralOfCluster) || now.isOfOther(time()))
      return false;
    if (time() < now.epoch)
      return true;
    bool sameWarp = warp() == next.warp() && !has(kSeveralWarps);
    if (thread() == next.thread() && !flags())
      return true;
    return sameWarp && warpBarriers() < next.warpBarriers();
  }

  /// Returns the record of these reads and one by `next`.
  AccessRecord joinedBy(AccessRecord next, Now now) const {
    if (time() < now.launch)
      return next;
    if (has(kSeveralBlocks) || time() < now.block)
      return next.with(kSeveralBlocks);
    if (time() < now.met)
      return next;
    if (has(kSeveralOfCluster) || now.isOfOther(time()))
      return next.with(kSeveralOfCluster);
    if (time() < now.epoch)
      return next;
    if (warp() != next.warp())
      return next.with(flags() | kSeveralWarps);
    if (warpBarriers() < next.warpBarriers())
      return next.with(flags() & kSeveralWarps);
    return thread() == next.thread() ? next.with(flags()) : next.with(flags() | kSeveralThreads);
  }

private:
  uint64_t bits;
};

/// Holds the records of a range of bytes. Memory is committed as records are written.
class AccessHistory {
public:
  explicit AccessHistory(int64_t bytes)
      : writes(allocate(bytes)), reads(allocate(bytes)), bytes(bytes) {}

  struct Race {
    AccessRecord other;
    bool otherWrites = false;
    int64_t byte = 0;
  };

  /// Records a read. Returns false where it races with a write.
  bool read(int64_t first, int64_t count, AccessRecord me, Now now, Race &race) {
    uint64_t *read = reads.get() + first;
    const uint64_t *written = writes.get() + first;
    uint64_t last = 0;
    for (int64_t i = 0; i < count; ++i)
      last = std::max(last, written[i]);
    if (last >= AccessRecord::since(now.launch))
      for (int64_t i = 0; i < count; ++i)
        if (AccessRecord other = written[i]; !other.isBefore(me, now)) {
          race = {other, true, first + i};
          return false;
        }
    for (int64_t i = 0; i < count; ++i)
      read[i] = AccessRecord(read[i]).joinedBy(me, now).value();
    return true;
  }

  /// Records a write. Returns false where it races with a write or a read.
  bool write(int64_t first, int64_t count, AccessRecord me, Now now, Race &race) {
    uint64_t *written = writes.get() + first;
    const uint64_t *read = reads.get() + first;
    uint64_t last = 0;
    for (int64_t i = 0; i < count; ++i)
      last = std::max(last, std::max(written[i], read[i]));
    if (last >= AccessRecord::since(now.launch))
      for (int64_t i = 0; i < count; ++i)
        for (bool ofWrites : {true, false})
          if (AccessRecord other = ofWrites ? written[i] : read[i]; !other.isBefore(me, now)) {
            race = {other, ofWrites, first + i};
            return false;
          }
    std::fill(written, written + count, me.value());
    return true;
  }

  /// Says that the bytes were written at `time`, and not read since.
  void settle(int64_t first, int64_t count, uint32_t time) {
    std::fill_n(writes.get() + first, count, AccessRecord::since(time));
    std::fill_n(reads.get() + first, count, 0);
  }

  /// Returns the first of these bytes that was not written since `time`, or -1.
  int64_t firstUnwritten(int64_t first, int64_t count, uint32_t time) const {
    const uint64_t *written = writes.get() + first;
    uint64_t least = ~uint64_t(0);
    for (int64_t i = 0; i < count; ++i)
      least = std::min(least, written[i]);
    if (least >= AccessRecord::since(time))
      return -1;
    return std::find_if(written, written + count,
                        [&](uint64_t bits) { return bits < AccessRecord::since(time); }) -
           writes.get();
  }

  void forget() { *this = AccessHistory(bytes); }

private:
  struct Free {
    void operator()(void *records) const { std::free(records); }
  };
  using Records = std::unique_ptr<uint64_t[], Free>;

  /// Allocates zeroed memory that is not committed until it is written.
  static Records allocate(int64_t bytes) {
    return Records(static_cast<uint64_t *>(std::calloc(std::max<int64_t>(bytes, 1), 8)));
  }

  Records writes, reads;
  int64_t bytes;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_ACCESSHISTORY_H
