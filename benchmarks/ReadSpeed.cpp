//===- ReadSpeed.cpp - How fast threads read a buffer ----------------------===//
//
//   read-speed BYTES THREADS PASSES    the GB/s of passes over a buffer, one after the other
//
// What generation is compared with: a token reads all weights once, so passes are what tokens are.
// Each thread reads a part of the buffer from its begin to its end, and waits for the others.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <vector>

// As wide as the processor reads, and from several places at once: one stream of narrow reads waits
// for memory that could bring more.
typedef uint64_t Wide __attribute__((vector_size(64)));
static constexpr size_t kStreams = 8, kHugePage = 2 << 20;

#ifdef __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void readPart(const Wide *begin, const Wide *end, uint64_t *sum) {
  size_t each = static_cast<size_t>(end - begin) / kStreams;
  Wide sums[kStreams] = {};
  for (size_t place = 0; place < each; ++place)
    for (size_t stream = 0; stream < kStreams; ++stream)
      sums[stream] ^= begin[stream * each + place];
  for (const Wide &words : sums)
    for (int word = 0; word < 8; ++word)
      *sum += words[word];
}

static double secondsOf(const Wide *words, size_t count, size_t threads, size_t passes,
                        std::vector<uint64_t> &sums) {
  std::barrier together(static_cast<ptrdiff_t>(threads));
  auto read = [&](size_t number) {
    for (size_t pass = 0; pass < passes; ++pass) {
      readPart(words + count * number / threads, words + count * (number + 1) / threads,
               &sums[number]);
      together.arrive_and_wait();
    }
  };
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (size_t number = 1; number < threads; ++number)
    others.emplace_back(read, number);
  read(0);
  for (std::thread &other : others)
    other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char **argv) {
  const long long bytes = argc == 4 ? std::atoll(argv[1]) : 0,
                  threads = argc == 4 ? std::atoll(argv[2]) : 0,
                  passes = argc == 4 ? std::atoll(argv[3]) : 0;
  if (bytes < 64 * threads * 8 || threads < 1 || passes < 1) {
    std::fprintf(stderr,
                 "read-speed BYTES THREADS PASSES: expected one thread or more, 512 bytes of "
                 "each, and one pass or more\n");
    return 1;
  }
  // In huge pages where the system has them, as a step's weights are.
  const size_t count = bytes / sizeof(Wide);
  auto *words =
      static_cast<Wide *>(std::aligned_alloc(kHugePage, (bytes / kHugePage + 1) * kHugePage));
  if (!words) {
    std::fprintf(stderr, "read-speed: not enough memory for %lld bytes\n", bytes);
    return 1;
  }
  madvise(words, count * sizeof(Wide), MADV_HUGEPAGE);
  std::fill(words, words + count, Wide{1});
  std::vector<uint64_t> sums(threads);
  const double seconds = secondsOf(words, count, threads, passes, sums);
  // The sums are used, so that no pass is left out.
  const double read = static_cast<double>(bytes) * static_cast<double>(passes);
  std::printf("%.3f\n", sums[0] != 1 ? read / seconds / 1e9 : 0.0);
  return 0;
}
