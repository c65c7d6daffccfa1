//===- AsyncMultiplies.cpp - Whether a warpgroup may multiply now -----------===//

#include "AsyncMultiplies.h"
#include "State.h"
#include <cstring>

using namespace llmmem::emulation;

//===----------------------------------------------------------------------===//
// Its begin
//===----------------------------------------------------------------------===//

static AsyncMultiplies::Chunks chunksOf(const SharedOperand &operand, int64_t rows) {
  AsyncMultiplies::Chunks chunks;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t inner = 0; inner < kWgmmaInner; ++inner)
      chunks.push_back(
          static_cast<int32_t>(operand.byteOf(row, inner) / AsyncMultiplies::kChunkBytes));
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  return chunks;
}

bool AsyncState::mayMultiply(const Thread &thread, int64_t number) {
  if (own->multiplies.isFenced(thread.number))
    return true;
  fail(
      &thread, number,
      "adds to sums that the thread has touched since its last wgmma.fence, or that no wgmma.fence "
      "precedes");
  return false;
}

/// Returns whether the warps of `group` may read the operand's chunks, and records that they have
/// begun to.
bool AsyncState::mayReadTile(const Thread *group, int64_t number,
                             const AsyncMultiplies::Chunks &chunks) {
  constexpr int64_t bytes = AsyncMultiplies::kChunkBytes;
  for (int32_t chunk : chunks) {
    if (!isInside(*group, number, chunk * bytes, sharedBytes, chunk * bytes, bytes))
      return false;
    if (int64_t writer = own->multiplies.unfencedWriterOf(chunk); writer >= 0) {
      fail(group, number,
           "reads byte " + std::to_string(chunk * bytes) + " of shared memory, which thread " +
               textOf(own->threads[writer].threadIds()) +
               " has written with no fence.proxy.async after it");
      return false;
    }
    for (int64_t warp = 0; warp < AsyncMultiplies::kWarps; ++warp)
      if (!mayAccessShared(group[warp * kWarp], number, chunk * bytes, bytes))
        return false;
  }
  return true;
}

static std::vector<float> elementsOf(const SharedOperand &operand, int64_t rows, const char *shared,
                                     bool isF16) {
  std::vector<float> elements;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t inner = 0; inner < kWgmmaInner; ++inner) {
      uint16_t bits;
      std::memcpy(&bits, shared + operand.byteOf(row, inner), sizeof bits);
      elements.push_back(widenHalf(bits, isF16));
    }
  return elements;
}

/// Returns A in rows of 16 inner places, from the words of the threads: each warp has a fragment of
/// 16 rows.
static std::vector<float> elementsOfRegisters(const Thread *group, bool isF16) {
  std::vector<float> elements(kWgmmaRows * kWgmmaInner);
  for (int thread = 0; thread < kWarpgroup; ++thread)
    for (int word = 0; word < 4; ++word)
      for (int half : {0, 1}) {
        Element at = elementOfA(thread % 32, word, half);
        auto bits = static_cast<uint16_t>(group[thread].wordsOfA[word] >> 16 * half);
        elements[(thread / 32 * 16 + at.row) * kWgmmaInner + at.column] = widenHalf(bits, isF16);
      }
  return elements;
}

/// It runs when all threads of a warpgroup have arrived.
bool AsyncState::multiply(Thread *group, int64_t number) {
  const Site &site = program.sites[number];
  std::vector<float *> sums;
  for (int lane = 0; lane < kWarpgroup; ++lane) {
    if (group[lane].descriptors != group->descriptors) {
      fail(&group[lane], number, "has other descriptors than the first thread of its warpgroup");
      return false;
    }
    sums.push_back(group[lane].sums);
    if (site.clears)
      std::fill_n(group[lane].sums, site.columns / 2, 0.0f);
  }
  auto begin = reinterpret_cast<uint64_t>(own->shared.bytes.get());
  SharedOperand a(group->descriptors[0], begin, site.turned[0]),
      b(group->descriptors[1], begin, site.turned[1]);
  for (const auto &[operand, name] : {std::pair(&a, "A"), std::pair(&b, "B")})
    if (std::string problem = site.hasRegistersOfA && operand == &a ? "" : operand->problem();
        !problem.empty()) {
      fail(group, number, std::string("reads ") + name + ", which " + problem);
      return false;
    }
  AsyncMultiplies::Chunks chunks, ofB = chunksOf(b, site.columns);
  if (!site.hasRegistersOfA)
    chunks = chunksOf(a, kWgmmaRows);
  if (!mayReadTile(group, number, chunks) || !mayReadTile(group, number, ofB))
    return false;
  addProducts(sums, site.columns,
              site.hasRegistersOfA ? elementsOfRegisters(group, site.isF16)
                                   : elementsOf(a, kWgmmaRows, own->shared.bytes.get(), site.isF16),
              elementsOf(b, site.columns, own->shared.bytes.get(), site.isF16));
  chunks.insert(chunks.end(), ofB.begin(), ofB.end());
  own->multiplies.start(group->number, kWarp, number, site.sums, std::move(chunks));
  return true;
}

//===----------------------------------------------------------------------===//
// Its end
//===----------------------------------------------------------------------===//

void AsyncState::finishMultiplies(const Thread &thread, int64_t groups) {
  // No write has occurred since they began, because that would have been a fault.
  constexpr int64_t bytes = AsyncMultiplies::kChunkBytes;
  Now sinceBlock = own->sinceBlock();
  AccessHistory::Race none;
  const int64_t firstChunk = placeIn(*own, 0) / bytes;
  own->multiplies.finish(thread.number, groups, [&](int32_t chunk) {
    if (bulkCopies.isFilled(firstChunk + chunk))
      return bulkCopies.read(memberOf(thread), firstChunk + chunk);
    own->history.read(chunk * bytes, bytes, thread.record, sinceBlock, none);
  });
}

bool AsyncState::mayTakeSums(const Thread &thread, int64_t number) {
  int64_t adds = own->multiplies.takeSums(thread.number, program.sites[number].sums);
  if (adds < 0)
    return true;
  fail(&thread, number,
       "takes sums to which wgmma may still add: the thread has not waited for its group", adds,
       "the wgmma");
  return false;
}
