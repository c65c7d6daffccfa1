//===- CollectivesCheck.cpp - Collectives over the transport of a launcher -===//
//
//   mpirun -n 6 collectives-check 2 3
//
// Checks every collective over a mesh of these sizes. Rank 0 prints "6 ranks over NAME: as
// defined"; a rank that finds a difference says so, and the job ends with exit code 1.
//
//===----------------------------------------------------------------------===//

#include "Definitions.h"
#include "llmmem/Runtime/Collectives.h"
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  std::vector<int64_t> sizes;
  for (int k = 1; k < argc; ++k)
    sizes.push_back(std::strtoll(argv[k], nullptr, 10));
  char message[512];
  if (llmmem_ranks_begin(static_cast<int64_t>(sizes.size()), sizes.data(), /*starts=*/1, message,
                         sizeof message)) {
    if (llmmem_rank() == 0)
      std::fprintf(stderr, "collectives-check: %s\n", message);
    llmmem_ranks_end();
    return 1;
  }
  std::string said = checkTransport(sizes);
  if (!said.empty()) {
    std::fprintf(stderr, "collectives-check: %s\n", said.c_str());
    llmmem_ranks_abort(1);
  }
  if (llmmem_rank() == 0)
    std::printf("%lld ranks over %s: as defined\n", static_cast<long long>(llmmem_ranks()),
                llmmem_transport_name());
  llmmem_ranks_end();
  return 0;
}
