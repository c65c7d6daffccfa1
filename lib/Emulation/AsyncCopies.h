//===- AsyncCopies.h - Copies to shared memory that may not have ended -----===//
//
// cp.async writes shared memory at some time between its issue and the end of a wait of the same
// thread for the group that the copy was committed in. Until then no thread may access the bytes,
// the copying one included (PTX ISA, "Data Movement and Conversion Instructions: cp.async"). After
// the wait that thread has written them, so others need a barrier as well.
//
//   copy to [0, 16)      [0, 16) unfinished
//   copy to [16, 32)
//   commit               both are group 0
//   copy to [32, 48)
//   commit               group 1
//   wait for all but 1   [0, 32) are finished, [32, 48) is not
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_ASYNCCOPIES_H
#define LLMMEM_LIB_EMULATION_ASYNCCOPIES_H

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace llmmem::emulation {

/// Tracks the copies of one block.
class AsyncCopies {
public:
  /// Describes bytes of shared memory, and the op that writes them.
  struct Copy {
    int64_t first, bytes, site;
  };
  /// Says for one byte which thread copies to it, and in which op.
  struct Unfinished {
    int64_t thread = -1, site = -1;
  };

  explicit AsyncCopies(int64_t sharedBytes = 0) : unfinished(sharedBytes) {}

  void start(int64_t thread, Copy copy) {
    threads[thread].pending.push_back(copy);
    std::fill_n(unfinished.begin() + copy.first, copy.bytes, Unfinished{thread, copy.site});
    ++numUnfinished;
  }

  /// Makes a group of the thread's copies since its last commit, even if there are none.
  void commit(int64_t thread) {
    OfThread &own = threads[thread];
    own.groups.push_back(std::move(own.pending));
    own.pending.clear();
  }

  /// Ends all groups of the thread except the newest `groups`, and calls `end` for each of their
  /// copies.
  template <typename Function>
  void finish(int64_t thread, int64_t groups, Function end) {
    std::vector<std::vector<Copy>> &all = threads[thread].groups;
    int64_t finished = std::max<int64_t>(0, static_cast<int64_t>(all.size()) - groups);
    for (int64_t number = 0; number < finished; ++number)
      for (const Copy &copy : all[number]) {
        std::fill_n(unfinished.begin() + copy.first, copy.bytes, Unfinished{});
        --numUnfinished;
        end(copy);
      }
    all.erase(all.begin(), all.begin() + finished);
  }

  /// Returns the first of these bytes to which a copy has not ended, or -1.
  int64_t firstUnfinished(int64_t first, int64_t bytes) const {
    if (numUnfinished == 0)
      return -1;
    for (int64_t byte = first; byte < first + bytes; ++byte)
      if (unfinished[byte].thread >= 0)
        return byte;
    return -1;
  }
  const Unfinished &unfinishedAt(int64_t byte) const { return unfinished[byte]; }

  /// Prepares for the next block. Copies that no one waited for end with their block.
  void forget() {
    if (numUnfinished > 0)
      std::fill(unfinished.begin(), unfinished.end(), Unfinished{});
    numUnfinished = 0;
    threads.clear();
  }

private:
  struct OfThread {
    std::vector<Copy> pending;
    std::vector<std::vector<Copy>> groups; // The oldest come first.
  };

  std::vector<Unfinished> unfinished; // Indexed by byte.
  std::unordered_map<int64_t, OfThread> threads;
  int64_t numUnfinished = 0;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_ASYNCCOPIES_H
