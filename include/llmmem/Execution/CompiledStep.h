//===- CompiledStep.h - A planned step as a function to call ---------------===//
//
//   FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module);
//   Expected<StepMemory> memory = StepMemory::allocate(**step);
//   ... fill memory->argument(i) ...
//   if (succeeded((*step)->run(*memory)))
//     ... read memory->result(k) ...
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_COMPILEDSTEP_H
#define LLMMEM_EXECUTION_COMPILEDSTEP_H

#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Execution/ArenaMemory.h"
#include "llmmem/Execution/CudaDevice.h"
#include "llmmem/Execution/Emulation.h"
#include "llmmem/Execution/NativeCode.h"
#include "llmmem/Execution/Shard.h"
#include "llmmem/Execution/StepProfile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace llmmem {

/// Everything that compiling and running steps needs: the llm dialect with its kernels, the
/// dialects that kernels are written in, and their translations to LLVM.
void registerExecution(mlir::DialectRegistry &registry);

struct StepArgument {
  std::optional<llm::Role> role;
  std::string name;            // empty if the function does not say
  mlir::RankedTensorType type; // of this rank's part, if it is split
  int64_t bytes = 0;
  Shard shard;
  mlir::RankedTensorType whole; // of all parts together, in the same order of elements
  double initial = 0;           // of all elements of a state that no file gives
  bool transposed = false;      // files hold the matrix so
};

struct StepResult {
  mlir::RankedTensorType type;
  int64_t bytes = 0;
  /// The argument whose buffer holds this result after a run; otherwise it has its own buffer.
  std::optional<unsigned> donatedArgument;
  std::string name = {}; // of the op that gives it; empty if it does not say
};

class DeviceBuffers;
class StepMemory;
struct StepCall;

class CompiledStep {
public:
  struct Options {
    std::string function = "step";
    /// Fill ranges of the arena with the pattern 0xFF when their values die (`--poison`).
    bool fillDeadBytes = false;
    /// Take the time before and after each call: on a GPU by events, without capturing the step.
    /// Not with `emulate`.
    bool profile = false;
    /// Compute matmuls by a library where it can, instead of generated code. The library must be
    /// available: for f32, and for bf16 where the processor has units for it, the one that llmmem
    /// was built with (oneDNN); on a GPU, for f32 and bf16, the one that the device has opened
    /// (cuBLASLt). With `emulate`, kernels compute what cuBLASLt is documented to compute.
    bool libraryMatmuls = false;
    /// On a GPU: where its library has no algorithm for a matmul, compute it otherwise, with its
    /// epilogue in a launch of its own or, if that does not help, by generated kernels
    /// (`replacedProducts`). Off: such a step cannot be prepared.
    bool replacesMissing = false;
    /// Compile for this processor (LLVM's name) instead of this machine's, which must have all of
    /// its instructions. Does not change the bits of generated code's results.
    std::string processor;
    /// Run on this GPU, perhaps beside a step that shares buffers. The host only launches.
    std::shared_ptr<CudaDevice> cuda;
    /// Run GPU kernels on the CPU, with each access checked: slow, and a wrong access fails the
    /// run.
    bool emulate = false;
    /// How generated kernels of a GPU multiply; nothing: as suits `cuda`, and by mma.sync with
    /// `emulate`.
    std::optional<TensorCores> tensorCores;
    /// With tensor maps: which products' tiles two blocks share.
    llm::TileSharing tileSharing = llm::TileSharing::Modelled;
    /// Off: code of the CPU is compiled in a fraction of the time, runs slower and has the same
    /// bits.
    bool optimize = true;
  };

  /// Compiles a function of a planned module, which stays as it is (and must outlive this object).
  /// Fails after a located diagnostic.
  static mlir::FailureOr<std::unique_ptr<CompiledStep>> compile(mlir::ModuleOp module,
                                                                const Options &options);
  static mlir::FailureOr<std::unique_ptr<CompiledStep>> compile(mlir::ModuleOp module) {
    return compile(module, {});
  }

  /// Sizes of the axes that ranks are arranged by, of the step's `llm.mesh`; none for one rank.
  llvm::ArrayRef<int64_t> mesh() const { return meshSizes; }
  /// The names of the parameters of all stages, in the model's order; none where the step is no
  /// stage of a pipeline.
  llvm::ArrayRef<std::string> parametersOfAllStages() const { return parametersOfStages; }
  llvm::ArrayRef<StepArgument> arguments() const { return argumentInfo; }
  /// The token ids of a batch: the argument `ids`, of a stage that reads none that of another one.
  const std::optional<StepArgument> &ids() const { return idsOfStep; }
  /// The images of a batch, `pixels`, in the same way.
  const std::optional<StepArgument> &pixels() const { return pixelsOfStep; }
  llvm::ArrayRef<StepResult> results() const { return resultInfo; }
  /// Of the larger plan, where there is an update apart.
  int64_t arenaBytes() const { return arena; }
  /// Of what leaves for the host; 0 where nothing does.
  int64_t hostArenaBytes() const { return hostArena; }
  /// How often a step runs the function before it runs the update behind it.
  int64_t microBatches() const { return updating ? runs : 1; }
  /// The calls that a profile times, in order; empty without one.
  llvm::ArrayRef<KernelCall> profiledCalls() const { return calls; }
  /// The number of compiled functions (equal ops share one; on a GPU its kernels), and the seconds
  /// of compilation.
  unsigned numFunctions() const { return functions; }
  double compileSeconds() const { return seconds; }
  /// The GPU that the step runs on; null on a CPU.
  const std::shared_ptr<CudaDevice> &cuda() const { return device; }

  /// The op whose matmul the GPU's library could not compute; else the module.
  mlir::Location locationOfFault() const;
  /// The number of `llm.library_product`s in host functions.
  size_t numLibraryMatmuls() const { return products.size(); }
  /// Why the library has no algorithm for a form of matmuls, of each that is computed otherwise.
  llvm::ArrayRef<std::string> replacedProducts() const { return replaced; }

  /// What the emulator runs; nothing without `emulate`.
  const std::optional<Emulation> &emulated() const { return emulation; }

  /// Runs the step once. All that it accesses is in `memory`; nothing is allocated. Fails after a
  /// located diagnostic, and then `memory` holds a part of a step.
  mlir::LogicalResult run(StepMemory &memory) const;
  /// Runs what updates the parameters after `microBatches` runs, on the same buffers; nothing where
  /// `run` updates them.
  mlir::LogicalResult runUpdate(StepMemory &memory) const;
  /// The preparation of the first run: on a GPU the step is captured, and nothing runs. Fails after
  /// a located diagnostic.
  mlir::LogicalResult prepare(StepMemory &memory) const;

private:
  friend class StepMemory;
  explicit CompiledStep(mlir::Location location) : location(location) {}
  void describe(mlir::func::FuncOp step);
  mlir::LogicalResult compileUpdate(mlir::ModuleOp module, const Options &options);
  mlir::LogicalResult runFunction(StepMemory &memory, StepCall &call) const;
  mlir::LogicalResult emulate(StepCall &call) const;
  mlir::LogicalResult outcome(llvm::Error error) const;
  llvm::Error capture(const StepMemory &memory, StepCall &call) const;
  llvm::Error replay(StepMemory &memory, StepCall &call) const;
  llvm::Error runMarked(StepCall &call) const;
  void launch(llmmem_cuda *run, StepCall &call) const;

  mlir::Location location;
  llvm::SmallVector<int64_t> meshSizes;
  std::vector<std::string> parametersOfStages;
  llvm::SmallVector<StepArgument, 0> argumentInfo;
  std::optional<StepArgument> idsOfStep, pixelsOfStep;
  llvm::SmallVector<StepResult> resultInfo;
  std::vector<KernelCall> calls;
  int64_t arena = 0, hostArena = 0;
  bool takesHostArena = false; // the function itself, not the update behind it
  unsigned functions = 0;
  double seconds = 0.0;
  std::shared_ptr<CudaDevice> device;
  int64_t functionOnDevice = 0;
  std::vector<mlir::Location> products;
  std::vector<std::string> replaced;
  NativeCode code;
  std::optional<Emulation> emulation;
  /// @update, of a step of micro-batches.
  std::unique_ptr<CompiledStep> updating;
  int64_t runs = 1;
};

/// What a function of the step is called with.
struct StepCall {
  /// Its arguments, and pointers to them, as its packed entry expects them.
  std::vector<void *> addresses, packed;
  std::unique_ptr<emulation::Emulator> emulator;
  bool captured = false; // on a GPU
  /// Nanoseconds before and after each of its profiled calls.
  llvm::MutableArrayRef<int64_t> times;
};

/// A buffer for each argument and for each result that is not donated, and the arena. Buffers begin
/// at multiples of 256 bytes and are zero at first; what nothing has read or written takes no
/// memory. On a GPU they lie in its memory, and the host reads and writes mirrors of them.
class StepMemory {
public:
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step);
  /// Argument i has the buffer of argument `shared[i]` of `other`, where that says one, of the same
  /// type. `other` must outlive this object. On a GPU, which both steps have been compiled for, the
  /// two have one arena, too, and none has run; where `step` has bytes of its own on the host, it
  /// fails.
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step, const StepMemory &other,
                                             llvm::ArrayRef<std::optional<unsigned>> shared);
  StepMemory(StepMemory &&);
  StepMemory &operator=(StepMemory &&);
  ~StepMemory();

  /// An argument's bytes, for writing all of them before a step.
  void *argument(unsigned number);
  /// An argument's bytes as the last step left them.
  const void *bytes(unsigned number) const;
  /// Fills an argument, which has `bytes` bytes, with zeros.
  void clear(unsigned number, int64_t bytes);
  /// The bytes of a result after a run: an argument's, where it is donated.
  const void *result(unsigned number) const;
  /// Fails if a copy from a GPU has failed.
  llvm::Error check() const;
  /// Without pages on a GPU.
  const ArenaMemory &arena() const { return arenaMemory; }
  /// Of what leaves for the host.
  const ArenaMemory &hostArena() const { return hostMemory; }
  /// Nanoseconds before and after each profiled call of the last step.
  llvm::ArrayRef<int64_t> callTimes() const { return times; }
  /// Bytes of the arguments' buffers, as allocated; without those of another.
  int64_t residentBytes() const { return resident; }
  /// The same of those that lie in the host's memory.
  int64_t residentOnHost() const { return onHost; }

private:
  friend class CompiledStep;
  /// Buffers of another step, by the arguments that have them.
  struct Shared {
    const StepMemory *other = nullptr;
    llvm::ArrayRef<std::optional<unsigned>> arguments = {};

    std::optional<unsigned> find(size_t argument) const {
      return other ? arguments[argument] : std::nullopt;
    }
  };
  struct Release {
    size_t mapped = 0; // bytes from the system; none where the heap gave them
    void operator()(void *bytes) const;
  };
  StepMemory();
  void *allocateZeroed(int64_t bytes, bool wholePages = false);
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step, const Shared &shared);
  bool allocateBuffers(const CompiledStep &step, const Shared &shared);
  /// Of a step on a GPU, perhaps among the buffers of another.
  llvm::Error placeOnDevice(const CompiledStep &step, const Shared &shared);
  llvm::Error allocateArenas(const CompiledStep &step);
  /// A call of a function of the step, whose profiled calls are `calls` of the step's.
  StepCall callOf(const CompiledStep &function, size_t firstCall, size_t calls);
  void addEmulator(const CompiledStep &function, StepCall &call);
  /// Of a call on a GPU, the addresses of its buffers, once no other step will be added.
  void locateOnDevice(const CompiledStep &function, StepCall &call) const;

  std::vector<std::unique_ptr<void, Release>> blocks;
  /// In blocks of their own; null where there was no memory.
  llvm::SmallVector<void *> arguments, ownResults;
  /// Numbers of buffers: arguments, then the results that are not donated.
  llvm::SmallVector<unsigned> results;
  ArenaMemory arenaMemory, hostMemory;
  /// Behind what it has pinned, which must outlive it. Shared with steps that pin nothing of their
  /// own.
  std::shared_ptr<DeviceBuffers> onDevice;
  llvm::SmallVector<unsigned> numbersOnDevice; ///< of each buffer
  /// The step, and the update behind its micro-batches.
  StepCall stepCall, updateCall;
  std::vector<int64_t> times;
  int64_t resident = 0, onHost = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_COMPILEDSTEP_H
