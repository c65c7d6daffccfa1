//===- Random.h - A random generator that is equal on every machine ----------------===//

#ifndef LLMMEM_SUPPORT_RANDOM_H
#define LLMMEM_SUPPORT_RANDOM_H

#include <cstdint>

namespace llmmem {

/// Is where every search of the planner begins, some of them at an odd multiple. Nothing else seeds
/// one, neither the clock nor the process, so a step has one plan on every machine and in every
/// run.
constexpr uint64_t kSearchSeed = 0x9E3779B97F4A7C15ULL;

/// Is xorshift64* (Vigna 2016). The standard library's distributions differ between
/// implementations.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {} // not 0

  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1DULL;
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; } // in [0, 1)
  int below(int bound) { return static_cast<int>(unit() * bound); }

private:
  uint64_t state;
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_RANDOM_H
