//===- RankJob.cpp - This process among the ranks of its job ---------------===//

#include "llmmem/Execution/RankJob.h"
#include "llmmem/Runtime/DeviceRanks.h"
#include "llmmem/Runtime/Parallel.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace llmmem;

static constexpr int64_t kEveryAxis = (int64_t{1} << LLMMEM_MOST_AXES) - 1;

/// Returns the ranks of the job on this machine, as launchers say, or 1.
static int ranksOfMachine() {
  for (const char *variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE"})
    if (const char *value = std::getenv(variable))
      return std::max(1, static_cast<int>(std::strtol(value, nullptr, 10)));
  return 1;
}

llvm::Error RankJob::join(llvm::ArrayRef<int64_t> mesh, bool starts, bool onDevices) {
  // Threads beyond the cores would wait for each other at every loop.
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  llmmem_set_threads(std::clamp(cores / ranksOfMachine(), 1, llmmem_threads()));
  char message[1024];
  int uses = (starts ? LLMMEM_RANKS_START : 0) | (onDevices ? LLMMEM_RANKS_ON_DEVICES : 0);
  if (llmmem_ranks_begin(static_cast<int64_t>(mesh.size()), mesh.data(), uses, message,
                         sizeof message))
    return llvm::createStringError(message);
  return llvm::Error::success();
}

llvm::Error RankJob::useNccl(const std::string &library) {
  char message[1024];
  if (llmmem_ranks_use_device(nullptr, library.c_str(), message, sizeof message))
    return llvm::createStringError(message);
  return llvm::Error::success();
}

int RankJob::leave(int code) {
  if (code != 0)
    llmmem_ranks_abort(code);
  llmmem_ranks_end();
  return code;
}

int64_t RankJob::rank() { return llmmem_rank(); }

int64_t RankJob::size() { return llmmem_ranks(); }

std::string RankJob::describe() {
  if (size() == 1)
    return "";
  std::string nccl = llmmem_device_ranks_name();
  return std::to_string(size()) + " ranks over " + llmmem_transport_name() +
         (nccl.empty() ? "" : ", collectives by " + nccl);
}

std::string RankJob::transport() { return llmmem_transport_name(); }

bool RankJob::isFirstWith(const Shard &shard) {
  return llmmem_group_position(kEveryAxis & ~shard.axes & ~shard.stages) == 0;
}

std::vector<std::string> RankJob::gatherTexts(llvm::StringRef text) {
  std::vector<int64_t> lengths = gather({static_cast<int64_t>(text.size())});
  size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<int64_t> padded(longest / sizeof(int64_t) + 1, 0);
  std::memcpy(padded.data(), text.data(), text.size());
  std::vector<int64_t> all = gather(padded);
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < lengths.size(); ++rank)
    texts.emplace_back(reinterpret_cast<const char *>(all.data() + rank * padded.size()),
                       lengths[rank]);
  return texts;
}

std::vector<int64_t> RankJob::gather(llvm::ArrayRef<int64_t> values) {
  std::vector<int64_t> all(values.size() * size());
  llmmem_all_gather_bytes(values.data(), all.data(),
                          static_cast<int64_t>(values.size() * sizeof(int64_t)), kEveryAxis);
  return all;
}
