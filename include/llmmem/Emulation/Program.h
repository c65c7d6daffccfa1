//===- Program.h - What the emulator knows of a program of GPU kernels -----===//
//
// Plain data, no MLIR: `emulate-gpu-kernels` attaches it to the module as an attribute, from which
// lib/Execution/Emulation.cpp builds it. Kernels, calls, launches and sites are numbered from 0.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EMULATION_PROGRAM_H
#define LLMMEM_EMULATION_PROGRAM_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace llmmem::emulation {

/// Values of `Site::buffer` beside the number of a kernel's argument: the block's shared memory,
/// tables that are part of the kernel, and one of several arguments that the kernel selects (all of
/// it).
constexpr int32_t kSharedMemory = -1, kConstantTable = -2, kChosenArgument = -3;

/// An op of a kernel that reads or writes memory, or synchronizes threads.
struct Site {
  enum class Kind {
    Read,
    Write,
    Barrier,
    WarpBarrier,
    Shuffle,
    Mma,
    CommitCopies,
    WaitForCopies,
    Wgmma,
    TakeSums, // of wgmma, out of the struct that holds them
    OtherOfWgmma,
    OfBarrierObject, // of an mbarrier
    ClusterBarrier
  };
  enum class Shuffle { Xor, Down, Up, Idx };

  Kind kind = Kind::Read;
  // Reads and writes: the accessed argument or one of the constants above; the number of bytes; the
  // alignment of the address; and the bytes of the accessed buffer or view (-1: all of the
  // argument).
  int32_t buffer = kSharedMemory;
  int64_t bytes = 0, alignment = 1, extent = -1;
  // Whether the access is one of the shared memory of a block of the cluster, by its rank.
  bool isOfPeer = false;
  // Reads by ldmatrix: how many matrices the warp reads, and whether lanes get parts of columns.
  int32_t matrices = 0;
  bool transposed = false;
  Shuffle shuffle = Shuffle::Xor;
  // wgmma and the taking of its sums: the number of the sums in the kernel. wgmma: columns of B,
  // whether lines of A and of B in shared memory are inner places, whether elements are f16,
  // whether A is in registers, and whether sums begin as 0.
  int32_t sums = -1, columns = 0;
  std::array<bool, 2> turned = {false, false};
  bool isF16 = false, hasRegistersOfA = false, clears = false;
};

struct Kernel {
  std::string name;
  /// For each argument the bytes of its buffer; 0 where it is a number.
  std::vector<int64_t> bufferBytes;
  /// Of workgroup attributions; dynamic shared memory begins behind them.
  int64_t sharedBytes = 0;
  /// Whether it synchronizes threads anywhere. Otherwise they run one after another.
  bool synchronizes = false;
  /// Whether wgmma reads its shared memory.
  bool hasWgmma = false;
  /// Neighbouring blocks along x that run together and may access each other's shared memory.
  int64_t clusterBlocks = 1;
};

/// A launch inside a host function: for each argument of the kernel, the parameter of the host
/// function that it is; -1 where it is none.
struct Launch {
  int64_t kernel = 0;
  std::vector<int64_t> parameters;
};

/// A call of a host function by the step: for each parameter the number of the value that its
/// buffer holds (-1: none), and whether the call writes it.
struct Call {
  std::vector<int64_t> values;
  std::vector<bool> writes;
};

struct Program {
  std::vector<Site> sites;
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;
  std::vector<Call> calls;
};

} // namespace llmmem::emulation

#endif // LLMMEM_EMULATION_PROGRAM_H
