//===- BulkCopies.cpp - Copies that end with the phases of mbarriers --------===//

#include "BulkCopies.h"
#include <algorithm>

using namespace llmmem::emulation;

void BulkCopies::forget(size_t threadsOfBlock) {
  if (barriers.areUsed())
    for (size_t chunk = 0; chunk < fills.size(); ++chunk)
      forgetFill(static_cast<int64_t>(chunk));
  barriers.forget(threadsOfBlock);
}

bool BulkCopies::touches(int64_t first, int64_t bytes) const {
  if (!barriers.areUsed())
    return false;
  for (int64_t chunk = first / kChunkBytes; chunk * kChunkBytes < first + bytes; ++chunk)
    if (isFilled(chunk))
      return true;
  return barriers.lieIn(first, bytes);
}

Problem BulkCopies::mayRead(int64_t thread, int64_t chunk) const {
  const Fill &fill = fills[chunk];
  if (barriers.hasWaited(thread, fill.until))
    return {};
  return {"reads " + barriers.cluster().nameOf(thread, chunk * kChunkBytes) +
              ", to which a copy may still write: the thread has not waited for " +
              barriers.nameOf(thread, fill.until),
          fill.site, "the copy"};
}

void BulkCopies::read(int64_t thread, int64_t chunk) {
  std::vector<Reader> &ofChunk = readers[chunk];
  auto own = std::find_if(ofChunk.begin(), ofChunk.end(),
                          [&](const Reader &reader) { return reader.thread == thread; });
  if (own == ofChunk.end())
    ofChunk.push_back({thread, barriers.clocks().known(thread, thread)});
  else
    own->arrivals = barriers.clocks().known(thread, thread);
}

Problem BulkCopies::mayReplace(int64_t thread, int64_t chunk, bool isCopy) const {
  if (!isFilled(chunk))
    return {};
  const Fill &before = fills[chunk];
  std::string what = (isCopy ? "copies to " : "writes ") +
                     barriers.cluster().nameOf(thread, chunk * kChunkBytes) + ", ";
  const std::string who = isCopy ? "the copying thread" : "the thread";
  for (const Reader &reader : readers[chunk])
    if (reader.thread != thread &&
        barriers.clocks().known(thread, reader.thread) <= reader.arrivals)
      return {
          what + "which may still be read: " + who + " has not waited for an mbarrier at which " +
              barriers.cluster().nameOfThread(thread, reader.thread) + " has arrived since it read",
          before.site, "the copy of what is read"};
  if (readers[chunk].empty() && !barriers.hasHeard(thread, before.until))
    return {what + "to which " + (isCopy ? "another" : "a") + " copy may still write: " + who +
                " has not waited for " + barriers.nameOf(thread, before.until),
            before.site, isCopy ? "the other copy" : "the copy"};
  return {};
}

void BulkCopies::forgetFill(int64_t chunk) {
  fills[chunk] = {};
  readers[chunk].clear();
}

void BulkCopies::fill(int64_t mbarrier, int64_t chunk, int64_t site) {
  fills[chunk] = {barriers.copyInPhase(mbarrier, site), site};
  readers[chunk].clear();
}
