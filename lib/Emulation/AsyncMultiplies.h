//===- AsyncMultiplies.h - wgmma that may not have ended --------------------===//
//
// wgmma reads its tiles and adds to its sums at some time between its issue and the end of a wait
// of the thread for the group that it was committed in (PTX ISA, "Asynchronous Warpgroup Level
// Matrix Instructions"). Until then
//
//   - no thread may write to the tiles: each of the four warps reads them until it has waited
//     itself;
//   - a thread may not touch its sums.
//
// wgmma.fence must order a thread's accesses of its sums before wgmma. wgmma reads by the async
// proxy: a fence.proxy.async of a thread must follow whatever else the thread has written to shared
// memory, cp.async included.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_ASYNCMULTIPLIES_H
#define LLMMEM_LIB_EMULATION_ASYNCMULTIPLIES_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace llmmem::emulation {

/// Tracks the wgmma of one block. Shared memory is read in chunks of 16 bytes.
class AsyncMultiplies {
public:
  static constexpr int64_t kChunkBytes = 16, kWarps = 4;
  using Chunks = std::vector<int32_t>;

  explicit AsyncMultiplies(int64_t sharedBytes = 0)
      : readers(sharedBytes / kChunkBytes + 1), sites(readers.size()), writers(sharedBytes) {}

  /// Prepares for the next block, of this number of threads. What no one waited for ends with its
  /// block.
  void forget(size_t numThreads) {
    if (!used && threads.size() == numThreads)
      return;
    threads.assign(numThreads, {});
    std::fill(readers.begin(), readers.end(), 0);
    std::fill(writers.begin(), writers.end(), 0);
    used = false;
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  /// Returns whether the thread has touched no sums since its last wgmma.fence, and has had one.
  bool isFenced(int64_t thread) const { return threads[thread].fenced; }
  void fenceSums(int64_t thread) {
    used = true;
    threads[thread].fenced = true;
  }
  /// Says that the thread touches its sums `number`. Returns the site of a wgmma that may still add
  /// to them, or -1.
  int64_t takeSums(int64_t thread, int64_t number) {
    OfThread &own = threads[thread];
    own.fenced = false;
    for (const std::vector<Multiply> &group : own.groups)
      for (const Multiply &multiply : group)
        if (multiply.sums == number)
          return multiply.site;
    for (const Multiply &multiply : own.pending)
      if (multiply.sums == number)
        return multiply.site;
    return -1;
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  /// Says that the four warps from thread `first` on start to read `chunks`, in the op of `site`,
  /// and to add to their sums `sums`.
  void start(int64_t first, int64_t warpSize, int64_t site, int64_t sums, Chunks chunks) {
    used = true;
    for (int32_t chunk : chunks) {
      readers[chunk] += kWarps;
      sites[chunk] = site;
    }
    auto shared = std::make_shared<const Chunks>(std::move(chunks));
    for (int64_t lane = 0; lane < kWarps * warpSize; ++lane)
      threads[first + lane].pending.push_back({shared, site, sums, lane % warpSize == 0});
  }

  /// Makes a group of the thread's wgmma since its last commit, even if there are none.
  void commit(int64_t thread) {
    used = true;
    OfThread &own = threads[thread];
    own.groups.push_back(std::move(own.pending));
    own.pending.clear();
  }

  /// Ends all groups of the thread except the newest `groups`. Calls `read` for each chunk that its
  /// warp has read, if it is the first of its warp.
  template <typename Function>
  void finish(int64_t thread, int64_t groups, Function read) {
    std::vector<std::vector<Multiply>> &all = threads[thread].groups;
    int64_t finished = std::max<int64_t>(0, static_cast<int64_t>(all.size()) - groups);
    for (int64_t number = 0; number < finished; ++number)
      for (const Multiply &multiply : all[number])
        for (int32_t chunk : *multiply.chunks) {
          if (!multiply.isFirstLane)
            break;
          --readers[chunk];
          read(chunk);
        }
    all.erase(all.begin(), all.begin() + finished);
  }

  /// Returns the site of a wgmma that may still read one of these bytes, or -1.
  int64_t readerOf(int64_t first, int64_t bytes) const {
    for (int64_t chunk = first / kChunkBytes; chunk * kChunkBytes < first + bytes; ++chunk)
      if (readers[chunk] > 0)
        return sites[chunk];
    return -1;
  }

  //===--------------------------------------------------------------------===//
  // Proxies
  //===--------------------------------------------------------------------===//

  /// Says that the thread has written these bytes by the generic proxy.
  void write(int64_t thread, int64_t first, int64_t bytes) {
    used = true;
    std::fill_n(writers.begin() + first, bytes, static_cast<uint16_t>(thread + 1));
    threads[thread].written.push_back({first, bytes});
  }
  void fenceProxy(int64_t thread) {
    for (auto [first, bytes] : threads[thread].written)
      for (int64_t byte = first; byte < first + bytes; ++byte)
        if (writers[byte] == thread + 1)
          writers[byte] = 0;
    threads[thread].written.clear();
  }
  /// Returns the thread that has written to this chunk and not made it visible to wgmma, or -1.
  int64_t unfencedWriterOf(int32_t chunk) const {
    for (int64_t byte = chunk * kChunkBytes; byte < (chunk + 1) * kChunkBytes; ++byte)
      if (writers[byte] > 0)
        return writers[byte] - 1;
    return -1;
  }

private:
  struct Multiply {
    std::shared_ptr<const Chunks> chunks;
    int64_t site, sums;
    bool isFirstLane; // In its warp.
  };
  struct Range {
    int64_t first, bytes;
  };
  struct OfThread {
    std::vector<Multiply> pending;
    std::vector<std::vector<Multiply>> groups; // The oldest come first.
    bool fenced = false;
    std::vector<Range> written;
  };

  std::vector<int32_t> readers;  // Counts by chunk the warps that may still read.
  std::vector<int64_t> sites;    // Indexed by chunk: the last wgmma that reads it.
  std::vector<uint16_t> writers; // Indexed by byte: 1 + the thread that has not fenced its write.
  std::vector<OfThread> threads;
  bool used = false;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_ASYNCMULTIPLIES_H
