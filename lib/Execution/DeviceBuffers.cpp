//===- DeviceBuffers.cpp - The buffers of steps on a GPU -------------------===//

#include "DeviceBuffers.h"
#include "llmmem/Alignment.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llmmem;

DeviceBuffers::~DeviceBuffers() {
  for (void *begin : pinned)
    device->unpin(begin);
}

unsigned DeviceBuffers::addOnHost(void *mirror, int64_t bytes) {
  buffers.push_back({mirror, bytes, /*offset=*/0, /*onHost=*/true});
  return buffers.size() - 1;
}

uint64_t DeviceBuffers::addressOf(unsigned number) const {
  const DeviceBuffer &buffer = buffers[number];
  return buffer.onHost ? reinterpret_cast<uint64_t>(buffer.mirror)
                       : device->resident() + buffer.offset;
}

llvm::Error DeviceBuffers::pin(void *begin, int64_t bytes) {
  if (llvm::Error error = device->pin(begin, bytes))
    return error;
  pinned.push_back(begin);
  return llvm::Error::success();
}

unsigned DeviceBuffers::add(void *mirror, int64_t bytes) {
  buffers.push_back({mirror, bytes, resident});
  resident += static_cast<int64_t>(llvm::alignTo(bytes, kArenaAlignment));
  return buffers.size() - 1;
}

llvm::Error DeviceBuffers::reserve(int64_t arena) {
  if (hasRun)
    return llvm::createStringError("a step has run on the device's buffers, whose addresses stay");
  largestArena = std::max(largestArena, arena);
  if (llvm::Error error = device->reserve(resident, largestArena))
    return error;
  for (DeviceBuffer &buffer : buffers)
    if (buffer.onHost && buffer.bytes > 0 && !buffer.isPinned) {
      if (llvm::Error error = pin(buffer.mirror, buffer.bytes))
        return error;
      buffer.isPinned = true;
    }
  return llvm::Error::success();
}

void DeviceBuffers::fetch(unsigned number) {
  DeviceBuffer &buffer = buffers[number];
  if (buffer.newer != Newer::Device)
    return;
  llvm::consumeError(device->download(buffer.mirror, addressOf(number), buffer.bytes));
  buffer.newer = Newer::Neither;
}

void DeviceBuffers::clear(unsigned number) {
  if (buffers[number].onHost) {
    std::memset(buffers[number].mirror, 0, buffers[number].bytes);
    return;
  }
  llvm::consumeError(device->clear(addressOf(number), buffers[number].bytes));
  buffers[number].newer = Newer::Device;
}

llvm::Error DeviceBuffers::beginStep() {
  hasRun = true;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    if (buffer.newer != Newer::Mirror)
      continue;
    if (llvm::Error error = device->upload(addressOf(number), buffer.mirror, buffer.bytes))
      return error;
    buffer.newer = Newer::Neither;
  }
  return llvm::Error::success();
}

void DeviceBuffers::endStep() {
  for (DeviceBuffer &buffer : buffers)
    if (!buffer.onHost)
      buffer.newer = Newer::Device;
}
