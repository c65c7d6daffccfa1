//===- TorchPool.cpp - PyTorch's pluggable allocator, served by a pool -----===//
//
// The two functions that torch.cuda.memory.CUDAPluggableAllocator finds by their names. Where
// memory runs out they throw, because PyTorch does not look at what they return, and shows an
// exception to its user.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Runtime/ArenaPool.h"
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>

namespace {

constexpr int kMostDevices = 64;

std::mutex opening;
llmmem_pool *pools[kMostDevices];

} // namespace

extern "C" {

/// Returns the pool of a device, which is opened when it is first asked for; null with the reason
/// in `message`. The driver is that of the environment variable LLMMEM_CUDA_DRIVER, or
/// libcuda.so.1.
llmmem_pool *llmmem_torch_pool(int device, char *message, size_t size) {
  std::lock_guard<std::mutex> lock(opening);
  if (device < 0 || device >= kMostDevices) {
    std::snprintf(message, size, "device %d is none of the first %d, which the pool knows", device,
                  kMostDevices);
    return nullptr;
  }
  if (!pools[device]) {
    const char *driver = std::getenv("LLMMEM_CUDA_DRIVER");
    pools[device] =
        llmmem_pool_open(driver && *driver ? driver : "libcuda.so.1", device, message, size);
  }
  return pools[device];
}

void *llmmem_torch_allocate(ptrdiff_t bytes, int device, void *stream) {
  if (bytes == 0)
    return nullptr;
  char message[512] = "";
  llmmem_pool *pool = llmmem_torch_pool(device, message, sizeof message);
  if (!pool)
    throw std::runtime_error("llmmem's pool: " + std::string(message));
  uint64_t address = llmmem_pool_allocate(pool, bytes, stream);
  if (!address) {
    llmmem_pool_usage usage = {};
    usage.size = sizeof usage;
    llmmem_pool_get_usage(pool, &usage);
    throw std::runtime_error("llmmem's pool: CUDA out of memory: " + std::to_string(bytes) +
                             " bytes were asked for; " + std::to_string(usage.allocated) +
                             " are allocated, and " + std::to_string(usage.reserved) +
                             " taken from the driver");
  }
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

void llmmem_torch_free(void *address, ptrdiff_t, int device, void *) {
  if (address && device >= 0 && device < kMostDevices && pools[device])
    llmmem_pool_free(pools[device], reinterpret_cast<uintptr_t>(address));
}
}
