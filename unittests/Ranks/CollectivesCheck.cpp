//===- CollectivesCheck.cpp - Collectives of the job of a launcher ---------===//
//
//   mpirun -n 6 collectives-check 2 3
//   mpirun -n 6 collectives-check --cuda=libcuda.so.1 --nccl=libnccl.so.2 2 3
//
// Checks every collective over a mesh of these sizes. Rank 0 prints "6 ranks over NAME: as
// defined"; a rank that finds a difference says so, and the job ends with exit code 1. An argument
// that is neither a flag nor a size is exit code 2. With --nccl they are that library's, on the
// host's memory (for a NCCL that has no device). With --cuda too, they are those of a captured step
// on its devices.
//
//===----------------------------------------------------------------------===//

#include "CapturedCheck.h"
#include "Definitions.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
struct Options {
  std::vector<int64_t> sizes;
  const char *nccl = nullptr, *cuda = nullptr;
  const char *wrong = nullptr; // an argument that is neither a flag nor a size

  Options(int argc, char **argv) {
    for (int k = 1; k < argc; ++k)
      if (std::strncmp(argv[k], "--nccl=", 7) == 0)
        nccl = argv[k] + 7;
      else if (std::strncmp(argv[k], "--cuda=", 7) == 0)
        cuda = argv[k] + 7;
      else if (!addSize(argv[k]))
        wrong = argv[k];
  }
  bool addSize(const char *text) {
    char *end = nullptr;
    sizes.push_back(std::strtoll(text, &end, 10));
    return end != text && *end == '\0' && sizes.back() >= 1 && sizes.back() <= INT32_MAX;
  }
  int64_t allAxes() const { return (int64_t{1} << sizes.size()) - 1; }
};
} // namespace

static int fail(const char *message) {
  std::fprintf(stderr, "collectives-check: %s\n", message);
  llmmem_ranks_abort(1);
  return 1;
}

static std::string check(const Options &options, llmmem_cuda *run) {
  if (run)
    return checkCaptured(run, options.allAxes());
  return options.nccl ? checkCollectives(options.sizes) : checkTransport(options.sizes);
}

int main(int argc, char **argv) {
  Options options(argc, argv);
  if (options.wrong) {
    std::fprintf(stderr,
                 "collectives-check: '%s' is no size of a mesh; expected --nccl=library, "
                 "--cuda=library and one size an axis, as in: collectives-check 2 3\n",
                 options.wrong);
    return 2;
  }
  char message[1024];
  int uses = options.nccl ? LLMMEM_RANKS_ON_DEVICES : LLMMEM_RANKS_START;
  if (llmmem_ranks_begin(static_cast<int64_t>(options.sizes.size()), options.sizes.data(), uses,
                         message, sizeof message)) {
    if (llmmem_rank() == 0)
      std::fprintf(stderr, "collectives-check: %s\n", message);
    llmmem_ranks_end();
    return 1;
  }
  llmmem_cuda *run = nullptr;
  if (options.cuda &&
      !(run = llmmem_cuda_open(options.cuda, llmmem_local_rank(), message, sizeof message)))
    return fail(message);
  if (options.nccl && llmmem_ranks_use_device(run, options.nccl, message, sizeof message))
    return fail(message);
  std::string said = check(options, run);
  if (!said.empty())
    return fail(said.c_str());
  if (llmmem_rank() == 0)
    std::printf("%lld ranks over %s%s%s: as defined\n", static_cast<long long>(llmmem_ranks()),
                llmmem_transport_name(), options.nccl ? ", collectives by " : "",
                llmmem_device_ranks_name());
  llmmem_ranks_leave_device(0);
  llmmem_cuda_close(run);
  llmmem_ranks_end();
  return 0;
}
