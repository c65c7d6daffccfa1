//===- ClusterPlaces.h - Threads and shared memory of a cluster, numbered ---===//
//
// Threads, and bytes of shared memory, are counted over all blocks of a cluster, one after another.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_CLUSTERPLACES_H
#define LLMMEM_LIB_EMULATION_CLUSTERPLACES_H

#include <cstdint>
#include <string>

namespace llmmem::emulation {

/// Says why a thread must not do what it is about to do, with another op that is to blame. An empty
/// message means that it may.
struct Problem {
  std::string message;
  int64_t site = -1;
  std::string ofSite = {};

  explicit operator bool() const { return !message.empty(); }
};

struct ClusterPlaces {
  int64_t bytesOfBlock = 0, blocks = 1, threadsOfBlock = 0;

  int64_t threads() const { return blocks * threadsOfBlock; }
  int64_t placeOf(int64_t rank, int64_t byte) const { return rank * bytesOfBlock + byte; }
  int64_t memberOf(int64_t rank, int64_t thread) const { return rank * threadsOfBlock + thread; }
  int64_t rankOf(int64_t thread) const { return thread / threadsOfBlock; }

  /// Return "byte 16 of shared memory" and "thread 3 of the block", as the thread sees them, or
  /// those of another block.
  std::string nameOf(int64_t thread, int64_t place) const;
  std::string nameOfThread(int64_t thread, int64_t other) const;
  std::string mbarrierAt(int64_t thread, int64_t place) const {
    return "the mbarrier at " + nameOf(thread, place);
  }
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_CLUSTERPLACES_H
