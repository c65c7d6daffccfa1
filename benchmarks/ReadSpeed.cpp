//===- ReadSpeed.cpp - How fast threads read a buffer ----------------------===//
//
//   read-speed BYTES THREADS    the GB/s of the fastest of a few passes over a buffer
//
// What generation is compared with: a token reads all weights once. Each thread reads a part of the
// buffer from its begin to its end.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static void readPart(const uint64_t *begin, const uint64_t *end, uint64_t *sum) {
  uint64_t sums[8] = {};
  for (; end - begin >= 8; begin += 8)
    for (int lane = 0; lane < 8; ++lane)
      sums[lane] += begin[lane];
  for (uint64_t lane : sums)
    *sum += lane;
}

static double secondsOfPass(const std::vector<uint64_t> &buffer, size_t threads,
                            std::vector<uint64_t> &sums) {
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> readers;
  for (size_t number = 0; number < threads; ++number)
    readers.emplace_back([&, number] {
      readPart(&buffer[buffer.size() * number / threads],
               buffer.data() + buffer.size() * (number + 1) / threads, &sums[number]);
    });
  for (std::thread &reader : readers)
    reader.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char **argv) {
  const long long bytes = argc == 3 ? std::atoll(argv[1]) : 0,
                  threads = argc == 3 ? std::atoll(argv[2]) : 0;
  if (bytes < 64 || threads < 1) {
    std::fprintf(stderr, "read-speed BYTES THREADS: expected numbers of at least 64 and 1\n");
    return 1;
  }
  std::vector<uint64_t> buffer(bytes / 8, 1), sums(threads);
  double fastest = 1e9;
  for (int pass = 0; pass < 20; ++pass)
    fastest = std::min(fastest, secondsOfPass(buffer, threads, sums));
  // The sums are used, so that no pass is left out.
  std::printf("%.3f\n", sums[0] ? static_cast<double>(bytes) / fastest / 1e9 : 0.0);
  return 0;
}
