//===- DeviceBuffers.cpp - The buffers of a step on a GPU ------------------===//

#include "DeviceBuffers.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;

void DeviceBuffers::add(void *mirror, int64_t bytes) {
  buffers.push_back({mirror, bytes, resident});
  resident += static_cast<int64_t>(llvm::alignTo(bytes, 256));
}

llvm::Error DeviceBuffers::reserve(int64_t arena) { return device->reserve(resident, arena); }

void DeviceBuffers::fetch(unsigned number) {
  DeviceBuffer &buffer = buffers[number];
  if (buffer.newer != Newer::Device)
    return;
  llvm::consumeError(device->download(buffer.mirror, addressOf(number), buffer.bytes));
  buffer.newer = Newer::Neither;
}

void DeviceBuffers::clear(unsigned number) {
  llvm::consumeError(device->clear(addressOf(number), buffers[number].bytes));
  buffers[number].newer = Newer::Device;
}

llvm::Error DeviceBuffers::beginStep() {
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
    buffer.newer = Newer::Device;
}
