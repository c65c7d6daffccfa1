//===- ClusterPlaces.cpp - Threads and shared memory of a cluster, numbered -===//

#include "ClusterPlaces.h"

using namespace llmmem::emulation;

std::string ClusterPlaces::nameOf(int64_t thread, int64_t place) const {
  int64_t rank = place / bytesOfBlock;
  std::string name = "byte " + std::to_string(place % bytesOfBlock);
  return rank == rankOf(thread)
             ? name + " of shared memory"
             : name + " of the shared memory of block " + std::to_string(rank) + " of its cluster";
}

std::string ClusterPlaces::nameOfThread(int64_t thread, int64_t other) const {
  int64_t rank = rankOf(other);
  return "thread " + std::to_string(other % threadsOfBlock) +
         (rank == rankOf(thread) ? " of the block"
                                 : " of block " + std::to_string(rank) + " of its cluster");
}
