//===- LaunchList.h - What the host code of a step asks of a GPU -*- C++ -*-===//
//
// The host code of a lowered step is straight-line but for loops of constant length, and computes
// places alone (docs/Design/Gpu.md). So all that it asks can be written down, and a program without
// a compiler can ask the same:
//
//   func.func @step(%arena: memref<4096xi8>, %x: memref<64xf32>) {
//     %c256 = arith.constant 256 : index
//     %v = memref.view %arena[%c256][] : memref<4096xi8> to memref<64xf32>
//     call @kernel_0(%x, %v)                  // launches @kernels::@double with both
//   }
//
// is one Launch of the kernel @kernels::@double with the words {argument 1, 0} and {argument 0,
// 256}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CONVERSION_LAUNCHLIST_H
#define LLMMEM_CONVERSION_LAUNCHLIST_H

#include "llmmem/Runtime/CudaProducts.h"
#include "llmmem/Runtime/TensorMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <variant>

namespace llmmem {

/// 8 bytes that the host hands over: a byte of an argument of the step, or a number.
struct LaunchWord {
  std::optional<unsigned> argument;
  /// Bytes from the argument's begin; else the number, in the low bits.
  int64_t value = 0;
};

struct Launch {
  unsigned kernel = 0; // in LaunchList::kernels
  std::array<int64_t, 3> grid = {}, block = {};
  int64_t sharedBytes = 0; // beside what the kernel declares
  llvm::SmallVector<LaunchWord> words;
  /// Behind the words: `argument` is the number of a word.
  llvm::SmallVector<llmmem_tensor_map> maps;
};

/// A call of the library. Addresses in `product` are 0; what is no word of it has none.
struct LibraryCall {
  llmmem_product product = {};
  std::optional<LaunchWord> a, b, initial, c, bias, aux, workspace;
};

/// What Runtime/Cuda.h has a function for: a copy on the device, one between it and the host's
/// memory (HostCopies.h), its start, and the wait for one, or for an update on the host.
struct HostCall {
  enum class Kind {
    Copy,
    HostCopy,
    StartHostCopy,
    WaitForHostCopy,
    WaitForUpdate
  } kind = Kind::Copy;
  LaunchWord to, from;
  int64_t bytes = 0, direction = 0;
};

/// An update on the host, or its start: a kernel for CPUs, and its buffers.
struct HostUpdate {
  unsigned kernel = 0; // in LaunchList::updates
  llvm::SmallVector<LaunchWord> words;
  bool isStarted = false;
};

/// The position before call `number` of a profiled step, or behind the last.
struct Mark {
  int64_t number = 0;
};

struct LaunchList {
  /// Module and name, by the numbers that launches name them with: in the order of first launches.
  std::vector<std::pair<std::string, std::string>> kernels;
  std::vector<std::variant<Launch, LibraryCall, HostCall, HostUpdate, Mark>> calls;
  /// The host functions that updates call, in the order of first calls.
  std::vector<std::string> updates;
  /// Of each call with a profile, in order: what its host function is given; of an op its operands,
  /// its results, its workspace if there is one.
  std::vector<llvm::SmallVector<std::optional<LaunchWord>>> profiled;
};

/// All that `step` asks, loops unrolled, in order. *Requires* outlined kernels (gpu.launch_func)
/// with the host functions that the step calls. Fails after a located diagnostic where something
/// depends on what is not known here, or is not of a GPU's run: what ranks do together.
mlir::FailureOr<LaunchList> listLaunches(mlir::func::FuncOp step);

/// A line for each call, for people and tests: `launch double grid 1 1 1 block 64 1 1 shared 0
/// (1+0, 0+256)`, an argument's number before `+` and its byte.
void printLaunches(const LaunchList &list, llvm::raw_ostream &os);

} // namespace llmmem

#endif // LLMMEM_CONVERSION_LAUNCHLIST_H
