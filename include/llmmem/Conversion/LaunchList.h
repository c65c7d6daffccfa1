//===- LaunchList.h - The calls of a GPU in a step's host code ---*- C++ -*-===//
//
// The host code of a lowered step is straight-line except for loops of constant length, and
// computes places alone (docs/Design/Gpu.md). So all of its calls can be written down, and a
// program without a compiler can make the same calls:
//
//   func.func @step(%arena: memref<4096xi8>, %x: memref<64xf32>) {
//     %c256 = arith.constant 256 : index
//     %v = memref.view %arena[%c256][] : memref<4096xi8> to memref<64xf32>
//     call @kernel_0(%x, %v)                  // launches @kernels::@double with both
//   }
//
// This is one Launch of the kernel @kernels::@double with the words {argument 1, 0} and {argument
// 0, 256}.
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

/// Holds 8 bytes that the host passes: an address within an argument of the step, or a number.
struct LaunchWord {
  std::optional<unsigned> argument;
  /// Counts the bytes from the argument's beginning or, without an argument, the number, in the low
  /// bits.
  int64_t value = 0;
};

struct Launch {
  unsigned kernel = 0; // Indexes LaunchList::kernels.
  std::array<int64_t, 3> grid = {}, block = {};
  int64_t sharedBytes = 0; // In addition to what the kernel declares.
  llvm::SmallVector<LaunchWord> words;
  /// Follow the words; `argument` is the number of a word.
  llvm::SmallVector<llmmem_tensor_map> maps;
};

/// Describes a call of the library. Addresses in `product` are 0; an address without a word does
/// not exist.
struct LibraryCall {
  llmmem_product product = {};
  std::optional<LaunchWord> a, b, initial, c, bias, aux, workspace;
};

/// Describes a call of Runtime/Cuda.h: a copy on the device, a copy between it and the host's
/// memory (HostCopyCalls.h), its start, or the wait for such a copy or for an update on the host.
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

/// Describes an update on the host, or its start: a kernel for CPUs, and its buffers.
struct HostUpdateCall {
  unsigned kernel = 0; // Indexes LaunchList::updates.
  llvm::SmallVector<LaunchWord> words;
  bool isStarted = false;
};

/// Marks the position before call `number` of a profiled step, or after the last.
struct Mark {
  int64_t number = 0;
};

struct LaunchList {
  /// Holds module and name by the numbers of launches, in the order of first launches.
  std::vector<std::pair<std::string, std::string>> kernels;
  std::vector<std::variant<Launch, LibraryCall, HostCall, HostUpdateCall, Mark>> calls;
  /// Holds the host functions that updates call, in the order of first calls.
  std::vector<std::string> updates;
  /// Holds for each call with a profile, in order, what its host function receives: for an op its
  /// operands, its results, and its workspace if there is one.
  std::vector<llvm::SmallVector<std::optional<LaunchWord>>> profiled;
};

/// Lists all calls of `step` in order, with loops unrolled. *Requires* outlined kernels
/// (gpu.launch_func) with the host functions that the step calls. Fails after a located diagnostic
/// where something depends on what is not known here, or is no part of a GPU's run, such as
/// collectives.
mlir::FailureOr<LaunchList> listLaunches(mlir::func::FuncOp step);

/// Prints a line for each call, for people and tests: `launch double grid 1 1 1 block 64 1 1 shared
/// 0 (1+0, 0+256)`, with an argument's number before `+` and its byte after it.
void printLaunches(const LaunchList &list, llvm::raw_ostream &os);

} // namespace llmmem

#endif // LLMMEM_CONVERSION_LAUNCHLIST_H
