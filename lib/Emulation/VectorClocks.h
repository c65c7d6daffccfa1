//===- VectorClocks.h - What each thread knows of the others' progress ------===//
//
// A thread's clock counts its own events, and those of each other thread that it knows to have
// happened (F. Mattern, "Virtual Time and Global States of Distributed Systems", 1989).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_VECTORCLOCKS_H
#define LLMMEM_LIB_EMULATION_VECTORCLOCKS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace llmmem::emulation {

class VectorClocks {
public:
  void begin(int64_t numThreads) {
    threads = numThreads;
    clocks.assign(threads * threads, 0);
  }
  /// Counts an event of the thread, and returns its number.
  uint32_t tick(int64_t thread) { return ++clocks[thread * threads + thread]; }
  /// Returns how many events of thread `of` the thread knows to have happened.
  uint32_t known(int64_t thread, int64_t of) const { return clocks[thread * threads + of]; }
  void learn(int64_t thread, int64_t of, uint32_t event) {
    uint32_t &clock = clocks[thread * threads + of];
    clock = std::max(clock, event);
  }
  /// Is an event of each of the threads [first, end), after which they know what any of them knew.
  void meet(int64_t first, int64_t end) {
    std::vector<uint32_t> merged(threads, 0);
    for (int64_t thread = first; thread < end; ++thread) {
      tick(thread);
      for (int64_t of = 0; of < threads; ++of)
        merged[of] = std::max(merged[of], known(thread, of));
    }
    for (int64_t thread = first; thread < end; ++thread)
      std::copy(merged.begin(), merged.end(), clocks.begin() + thread * threads);
  }

private:
  int64_t threads = 0;
  std::vector<uint32_t> clocks; // Indexed by thread and thread.
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_VECTORCLOCKS_H
