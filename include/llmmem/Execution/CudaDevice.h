//===- CudaDevice.h - A GPU with steps that share its memory ---------------===//
//
//   Expected<std::shared_ptr<CudaDevice>> device = CudaDevice::open("libcuda.so.1");
//   ... CompiledStep::compile(module, {.device = *device}) loads the step's kernels ...
//   ... StepMemory::allocate(step) reserves its buffers, and run() replays it ...
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_CUDADEVICE_H
#define LLMMEM_EXECUTION_CUDADEVICE_H

#include "llmmem/Runtime/CudaProducts.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct llmmem_cuda;

namespace llmmem {

/// Reports a failure of a GPU or its driver, not of the input.
class DeviceError : public llvm::ErrorInfo<DeviceError> {
public:
  static char ID;
  explicit DeviceError(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string message;
};

/// Wraps a GPU. Its functions fail with a DeviceError. It has many methods because each wraps a
/// function of Runtime/Cuda.h, all of which take one run: parts of the class would share its
/// pointer, and none of them could outlive the others.
class CudaDevice {
public:
  /// Opens a device of a CUDA driver, whose name dlopen resolves: the first device, or that of this
  /// process among those that a launcher has started on this machine. Fails if there is no driver
  /// or no device, or the device has no bf16.
  static llvm::Expected<std::shared_ptr<CudaDevice>> open(const std::string &driver);
  ~CudaDevice();
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  /// Returns, for example, "NVIDIA H200".
  llvm::StringRef name() const;
  /// Returns the architecture for which kernels are compiled: sm_90a on capability 9.0 only, else
  /// sm_80, which later devices run too.
  std::string chip() const;
  /// Returns name, capability, CUDA version of the driver, clocks and bytes, for programs that
  /// report the origin of a measurement.
  llvm::Expected<llvm::json::Object> describe();

  /// Lets steps compute matmuls by cuBLASLt, using the first of these libraries that dlopen opens.
  /// Fails if none works; the device stays usable without it.
  llvm::Error openProducts(llvm::ArrayRef<std::string> libraries);
  /// Returns, for example, "cuBLASLt 13.1.0"; empty if it is not open.
  std::string products() const;
  /// Counts the forms of matmuls that have an algorithm: from a file, or chosen by this run.
  struct AlgorithmCounts {
    size_t given = 0, chosen = 0;
  };
  AlgorithmCounts countAlgorithms() const;
  /// Times algorithms once for this device and version of the library, and keeps them in a file of
  /// `folder` (llmmem/Runtime/ProductStore.h). The folder is created where it is missing.
  llvm::Error keepAlgorithms(const std::string &folder);
  /// Says why the library has no algorithm for a matmul. Returns nothing where it has one, or where
  /// the library is not open. An address only says whether the operand exists.
  std::optional<std::string> whyMissing(const llmmem_product &product) const;
  /// Returns the number of the matmul that failed.
  std::optional<int64_t> failedProduct() const;

  /// Hands the collectives of this process's job (RankJob) to the device, by a NCCL that dlopen
  /// opens. The name may be empty: a job of one rank needs no NCCL. All ranks call it.
  llvm::Error joinRanks(const std::string &nccl);
  /// Leaves the ranks when all are done. A device that is closed without this call leaves as one
  /// that has failed.
  void leaveRanks();
  /// Returns the bytes of the device that NCCL took when the ranks joined.
  static int64_t ncclBytes();

  struct Kernel {
    size_t module; // The number of its PTX.
    std::string name;
  };
  /// Loads a function of the step, and returns its number.
  llvm::Expected<int64_t> load(llvm::ArrayRef<std::string> ptx, llvm::ArrayRef<Kernel> kernels);
  /// Selects the function that later calls capture, replay or run.
  llvm::Error choose(int64_t function);

  /// Makes two allocations; see include/llmmem/Runtime/Cuda.h. The addresses that follow are the
  /// device's.
  llvm::Error reserve(int64_t resident, int64_t arena);
  uint64_t resident() const;
  uint64_t arena() const;
  /// Returns the first failure so far.
  llvm::Error check() const;
  /// Returns the decrease of the device's free bytes since it was opened.
  llvm::Expected<int64_t> measuredBytes();

  /// Lets the step's copies read and write bytes of the host's memory, whose pages hold nothing
  /// else that is pinned.
  llvm::Error pin(void *begin, int64_t bytes);
  void unpin(void *begin);

  llvm::Error upload(uint64_t to, const void *from, int64_t bytes);
  llvm::Error download(void *to, uint64_t from, int64_t bytes);
  llvm::Error clear(uint64_t to, int64_t bytes);

  /// Records what `step` launches on the run that it is given, as the graph that `replay` runs.
  /// Each function has its own graph.
  llvm::Error capture(llvm::function_ref<void(llmmem_cuda *run)> step);
  llvm::Error replay();
  /// Returns the nanoseconds that the last replay took on the device.
  int64_t replayNs() const;
  /// Runs what `step` launches without a graph, and returns the nanoseconds between its marks.
  /// There is one more mark than `ns` has elements.
  llvm::Error runMarked(llvm::function_ref<void(llmmem_cuda *run)> step,
                        llvm::MutableArrayRef<int64_t> ns);

  /// Returns the nanoseconds of each call that the last such run has started, on its stream.
  llvm::Error readStarts(llvm::MutableArrayRef<int64_t> ns);

private:
  explicit CudaDevice(llmmem_cuda *run) : run(run) {}
  llvm::Error outcome(int failed) const;

  llmmem_cuda *run;
  int64_t functions = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_CUDADEVICE_H
