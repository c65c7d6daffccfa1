//===- Program.h - What the emulator knows of a program of GPU kernels -----===//
//
// This is plain data without MLIR. `emulate-gpu-kernels` attaches it to the module as an attribute,
// from which lib/Execution/Emulation.cpp builds it. Kernels, calls, launches and sites are numbered
// from 0.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EMULATION_PROGRAM_H
#define LLMMEM_EMULATION_PROGRAM_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace llmmem::emulation {

/// These are values of `Site::buffer` other than the number of a kernel's argument: the block's
/// shared memory, tables that are part of the kernel, and one of several arguments that the kernel
/// selects (all of it).
constexpr int32_t kSharedMemory = -1, kConstantTable = -2, kChosenArgument = -3;

/// Describes an op of a kernel that reads or writes memory, or synchronizes threads. It has many
/// fields because each kind of op has some of its own, as `llm.emulation` writes them.
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
    TakeSums, // Reads sums of wgmma from the struct that holds them.
    OtherOfWgmma,
    OfBarrierObject, // Initializes an mbarrier.
    ClusterBarrier
  };
  enum class Shuffle { Xor, Down, Up, Idx };

  Kind kind = Kind::Read;
  // Describe reads and writes: the accessed argument or one of the constants above, the number of
  // bytes, the alignment of the address, and the bytes of the accessed buffer or view (-1: all of
  // the argument).
  int32_t buffer = kSharedMemory;
  int64_t bytes = 0, alignment = 1, extent = -1;
  // Says whether the access is to the shared memory of a block of the cluster, by its rank.
  bool isOfPeer = false;
  // Describe reads by ldmatrix: how many matrices the warp reads, and whether lanes get parts of
  // columns.
  int32_t matrices = 0;
  bool transposed = false;
  Shuffle shuffle = Shuffle::Xor;
  // Describe wgmma and the reading of its sums: the number of the sums in the kernel. For wgmma
  // they also give the columns of B, whether lines of A and of B in shared memory are inner places,
  // whether elements are f16, whether A is in registers, and whether sums begin as 0.
  int32_t sums = -1, columns = 0;
  std::array<bool, 2> turned = {false, false};
  bool isF16 = false, hasRegistersOfA = false, clears = false;
};

struct Kernel {
  std::string name;
  /// Holds for each argument the bytes of its buffer; 0 where it is a number.
  std::vector<int64_t> bufferBytes;
  /// Counts the bytes of workgroup attributions. Dynamic shared memory begins after them.
  int64_t sharedBytes = 0;
  /// Says whether it synchronizes threads anywhere. Otherwise they run one after another.
  bool synchronizes = false;
  /// Says whether wgmma reads its shared memory.
  bool hasWgmma = false;
  /// Counts the neighbouring blocks along x that run together and may access each other's shared
  /// memory.
  int64_t clusterBlocks = 1;
};

/// Describes a launch inside a host function. It holds for each argument of the kernel the
/// parameter of the host function that it is; -1 where it is none.
struct Launch {
  int64_t kernel = 0;
  std::vector<int64_t> parameters;
};

/// Describes a call of a host function by the step. It holds for each parameter the number of the
/// value in its buffer (-1: none), and whether the call writes it.
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
