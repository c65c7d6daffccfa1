//===- BulkCopies.h - Copies that end with the phases of mbarriers ----------===//
//
// cp.async.bulk writes shared memory at some time between its issue and the end of the phase of its
// mbarrier (PTX ISA, "mbarrier"; BarrierObject.h). The bytes that such copies have filled obey two
// rules:
//
//   - a thread may read those whose phase it knows to have ended: it has waited for it itself, or
//     passed a barrier of the block after a thread that had;
//   - a copy, or a store, may overwrite those whose readers have all arrived at an mbarrier, or
//     passed a barrier of the block, since, as far as the copying thread knows.
//
//   thread 0: wait empty, phase 0    arrive and expect full    copy to [0, 1024)
//   thread 1:                        wait full, phase 0        read [0, 16)    arrive at empty
//   thread 0: wait empty, phase 1    arrive and expect full    copy to [0, 1024)
//
// `Mbarriers` says what a thread knows. Blocks of a cluster copy to each other's shared memory
// (multicast), where the same holds.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_BULKCOPIES_H
#define LLMMEM_LIB_EMULATION_BULKCOPIES_H

#include "Mbarriers.h"

namespace llmmem::emulation {

/// Tracks the copies of the blocks of one cluster, or of one block. Shared memory is filled and
/// read in chunks of 16 bytes.
class BulkCopies {
public:
  static constexpr int64_t kChunkBytes = 16;

  /// `bytesOfBlock` is a multiple of a chunk.
  explicit BulkCopies(int64_t bytesOfBlock = 0, int64_t blocks = 1)
      : barriers({bytesOfBlock, blocks}), fills(blocks * bytesOfBlock / kChunkBytes + 1),
        readers(fills.size()) {}

  Mbarriers &mbarriers() { return barriers; }
  const Mbarriers &mbarriers() const { return barriers; }
  /// Returns whether there is room for this much.
  bool holds(int64_t bytes, int64_t ofBlocks) const {
    return bytes <= barriers.cluster().bytesOfBlock && ofBlocks == barriers.cluster().blocks;
  }
  /// Prepares for the next cluster, whose blocks have this number of threads.
  void forget(size_t threadsOfBlock);
  /// Returns whether mbarriers, or copies that they count, have written some of these bytes.
  bool touches(int64_t first, int64_t bytes) const;

  bool isFilled(int64_t chunk) const { return fills[chunk].until.barrier >= 0; }
  Problem mayRead(int64_t thread, int64_t chunk) const;
  /// Says that the thread has read the chunk by now.
  void read(int64_t thread, int64_t chunk);
  Problem mayFill(int64_t thread, int64_t chunk) const { return mayReplace(thread, chunk, true); }
  /// Does the same for a store, after which the chunk is not filled any more.
  Problem mayStore(int64_t thread, int64_t chunk) const { return mayReplace(thread, chunk, false); }
  void forgetFill(int64_t chunk);
  /// Fills a chunk in the current phase of the mbarrier at this place.
  void fill(int64_t mbarrier, int64_t chunk, int64_t site);

private:
  struct Fill {
    MbarrierPhase until;
    int64_t site = -1;
  };
  struct Reader {
    int64_t thread;
    uint32_t arrivals; // How many it had made when it read.
  };

  Problem mayReplace(int64_t thread, int64_t chunk, bool isCopy) const;

  Mbarriers barriers;
  std::vector<Fill> fills;                  // Indexed by chunk.
  std::vector<std::vector<Reader>> readers; // Hold by chunk who has read what fills it.
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_BULKCOPIES_H
