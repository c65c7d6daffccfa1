//===- DeviceBuffers.h - The buffers of steps on a GPU ---------------------===//
//
// The host has a mirror of each argument, whose pages are not committed until it writes them. What
// it has written is copied to the device before the next step, and what a step has written is
// copied back when it is read. An argument that lies on the host has its bytes in the mirror alone,
// which the step's copies read and write. Steps that share buffers have all of theirs here, and one
// arena, which is the largest that one of them needs, because they run one after another.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EXECUTION_DEVICEBUFFERS_H
#define LLMMEM_LIB_EXECUTION_DEVICEBUFFERS_H

#include "llmmem/Execution/CudaDevice.h"
#include "llvm/ADT/SmallVector.h"

namespace llmmem {

class DeviceBuffers {
public:
  explicit DeviceBuffers(std::shared_ptr<CudaDevice> device) : device(std::move(device)) {}
  /// The pinned bytes must still exist.
  ~DeviceBuffers();

  /// Adds a buffer whose mirror has `bytes` zeros, and returns its number, from 0 on. It is called
  /// before `reserve`.
  unsigned add(void *mirror, int64_t bytes);
  unsigned addOnHost(void *mirror, int64_t bytes);
  /// Lets the step's copies access these bytes, on pages of their own.
  llvm::Error pin(void *begin, int64_t bytes);
  /// Fails if they and the arena do not fit the device. It may be called again before the first
  /// step, after buffers of another step were added: addresses change, and the larger arena stays.
  llvm::Error reserve(int64_t arena);

  int64_t residentBytes() const { return resident; }
  uint64_t addressOf(unsigned number) const;
  CudaDevice &cuda() const { return *device; }

  /// Says that all bytes of the mirror are new.
  void markWritten(unsigned number) {
    if (!buffers[number].onHost)
      buffers[number].newer = Newer::Mirror;
  }
  /// Copies the buffer to the mirror if the device's is newer. `CudaDevice::check` reports
  /// failures.
  void fetch(unsigned number);
  void clear(unsigned number);

  /// Copies what the host has written.
  llvm::Error beginStep();
  /// Says that the step may have written any of them.
  void endStep();

private:
  enum class Newer { Neither, Mirror, Device };
  struct DeviceBuffer {
    void *mirror;
    int64_t bytes, offset;
    bool onHost = false, isPinned = false;
    Newer newer = Newer::Neither;
  };

  std::shared_ptr<CudaDevice> device;
  llvm::SmallVector<DeviceBuffer> buffers;
  llvm::SmallVector<void *> pinned;
  int64_t resident = 0, largestArena = 0;
  bool hasRun = false;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_DEVICEBUFFERS_H
