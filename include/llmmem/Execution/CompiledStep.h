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
#include "llmmem/Execution/ArenaMemory.h"
#include "llmmem/Execution/CudaDevice.h"
#include "llmmem/Execution/Emulation.h"
#include "llmmem/Execution/NativeCode.h"
#include "llmmem/Execution/StepDescription.h"
#include "llmmem/Execution/StepProfile.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

/// Registers everything that compiling and running steps needs: the llm dialect with its kernels,
/// the dialects that kernels are written in, and their translations to LLVM.
void registerExecution(mlir::DialectRegistry &registry);

class DeviceBuffers;
class StepMemory;
struct StepCall;

class CompiledStep : public StepDescription {
public:
  struct Options {
    std::string function = "step";
    /// Fills ranges of the arena with the pattern 0xFF when their values die (`--poison`).
    bool fillDeadBytes = false;
    /// Records the time before and after each call; on a GPU by events, without capturing the step.
    /// Excludes `emulate`.
    bool profile = false;
    /// Computes matmuls by a library where it can, instead of generated code. The library must be
    /// available: on a CPU it is the one that the machine has (oneDNN), for f32, and for bf16
    /// where the processor has units for it; on a GPU it is the one that the device has opened
    /// (cuBLASLt), for f32 and bf16. With `emulate`, kernels compute what cuBLASLt is documented to
    /// compute.
    bool libraryMatmuls = false;
    /// On a GPU: a matmul for which the library has no algorithm is computed otherwise, with its
    /// epilogue in a launch of its own or, if that does not help, by generated kernels
    /// (`replacedProducts`). If this is off, such a step cannot be prepared.
    bool replacesMissing = false;
    /// Compiles for this processor (LLVM's name) instead of this machine's, which must have all of
    /// its instructions. The bits of generated code's results do not change.
    std::string processor;
    /// Runs on this GPU, which a step that shares buffers may use as well. The host only launches.
    std::shared_ptr<CudaDevice> cuda;
    /// Runs GPU kernels on the CPU and checks each access. This is slow, and a wrong access fails
    /// the run.
    bool emulate = false;
    /// Says how generated kernels of a GPU multiply. None means what suits `cuda`, and mma.sync
    /// with `emulate`.
    std::optional<TensorCores> tensorCores;
    /// With tensor maps: says which products' tiles two blocks share.
    llm::TileSharing tileSharing = llm::TileSharing::Modelled;
    /// If this is off, code of the CPU compiles in a fraction of the time, runs slower and has the
    /// same bits.
    bool optimize = true;
  };

  /// Compiles a function of a planned module, which is not changed and must outlive this object.
  /// Fails after a located diagnostic.
  static mlir::FailureOr<std::unique_ptr<CompiledStep>> compile(mlir::ModuleOp module,
                                                                const Options &options);
  static mlir::FailureOr<std::unique_ptr<CompiledStep>> compile(mlir::ModuleOp module) {
    return compile(module, {});
  }

  /// Returns how often a step runs the function before it runs the update.
  int64_t microBatches() const { return updating ? runs : 1; }
  /// Returns the calls that a profile times, in order; empty without a profile.
  llvm::ArrayRef<KernelCall> profiledCalls() const { return calls; }
  /// Return the number of compiled functions (equal ops share one; on a GPU, its kernels), and the
  /// seconds of compilation.
  unsigned numFunctions() const { return functions; }
  double compileSeconds() const { return seconds; }
  /// Returns the GPU that the step runs on; null on a CPU.
  const std::shared_ptr<CudaDevice> &cuda() const { return device; }

  /// Returns the op whose matmul the GPU's library could not compute, or the module.
  mlir::Location locationOfFault() const;
  /// Returns the number of `llm.library_product`s in host functions.
  size_t numLibraryMatmuls() const { return products.size(); }
  /// Says for each form of matmuls that is computed otherwise why the library has no algorithm.
  llvm::ArrayRef<std::string> replacedProducts() const { return replaced; }

  /// Returns what the emulator runs; nothing without `emulate`.
  const std::optional<Emulation> &emulated() const { return emulation; }

  /// Runs the step once. Everything that it accesses is in `memory`, and nothing is allocated.
  /// Fails after a located diagnostic, and `memory` then holds a part of a step.
  mlir::LogicalResult run(StepMemory &memory) const;
  /// Runs the update of the parameters after `microBatches` runs, on the same buffers. Does nothing
  /// where `run` updates them.
  mlir::LogicalResult runUpdate(StepMemory &memory) const;
  /// Prepares the first run: on a GPU this captures the step, and nothing runs. Fails after a
  /// located diagnostic.
  mlir::LogicalResult prepare(StepMemory &memory) const;

private:
  friend class StepMemory;
  explicit CompiledStep(mlir::func::FuncOp step)
      : StepDescription(step), location(step->getParentOp()->getLoc()) {}
  mlir::LogicalResult compileUpdate(mlir::ModuleOp module, const Options &options);
  mlir::LogicalResult runFunction(StepMemory &memory, StepCall &call) const;
  mlir::LogicalResult emulate(StepCall &call) const;
  mlir::LogicalResult outcome(llvm::Error error) const;
  llvm::Error capture(const StepMemory &memory, StepCall &call) const;
  llvm::Error replay(StepMemory &memory, StepCall &call) const;
  llvm::Error runMarked(StepCall &call) const;
  void launch(llmmem_cuda *run, StepCall &call) const;

  mlir::Location location;
  std::vector<KernelCall> calls;
  unsigned functions = 0;
  double seconds = 0.0;
  std::shared_ptr<CudaDevice> device;
  int64_t functionOnDevice = 0;
  std::vector<mlir::Location> products;
  std::vector<std::string> replaced;
  NativeCode code;
  std::optional<Emulation> emulation;
  /// Holds the @update of a step of micro-batches.
  std::unique_ptr<CompiledStep> updating;
  int64_t runs = 1;
};

/// Holds what a function of the step is called with.
struct StepCall {
  /// Hold its arguments, and pointers to them, as its packed entry expects them.
  std::vector<void *> addresses, packed;
  std::unique_ptr<emulation::Emulator> emulator;
  bool captured = false; // On a GPU only.
  /// Holds the nanoseconds before and after each of its profiled calls.
  llvm::MutableArrayRef<int64_t> times;
};

/// Owns a buffer for each argument and for each result that is not donated, and the arena. Buffers
/// begin at multiples of 256 bytes and are zero at first. A page that nothing has read or written
/// takes no memory. On a GPU the buffers lie in its memory, and the host reads and writes mirrors
/// of them.
class StepMemory {
public:
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step);
  /// Argument i uses the buffer of argument `shared[i]` of `other`, where that is set and has the
  /// same type. `other` must outlive this object. On a GPU, for which both steps are compiled, the
  /// two also share one arena, and neither may have run. Fails there where `step` has bytes of its
  /// own on the host.
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step, const StepMemory &other,
                                             llvm::ArrayRef<std::optional<unsigned>> shared);
  StepMemory(StepMemory &&);
  StepMemory &operator=(StepMemory &&);
  ~StepMemory();

  /// Returns an argument's bytes, so that the caller can write all of them before a step.
  void *argument(unsigned number);
  /// Returns an argument's bytes as the last step left them.
  const void *bytes(unsigned number) const;
  /// Fills an argument, which has `bytes` bytes, with zeros.
  void clear(unsigned number, int64_t bytes);
  /// Returns the bytes of a result after a run: those of an argument, where it is donated.
  const void *result(unsigned number) const;
  /// Fails if a copy from a GPU has failed.
  llvm::Error check() const;
  /// Has no pages on a GPU.
  const ArenaMemory &arena() const { return arenas.own; }
  /// Holds what is offloaded to the host.
  const ArenaMemory &hostArena() const { return arenas.host; }
  /// Returns the nanoseconds before and after each profiled call of the last step.
  llvm::ArrayRef<int64_t> callTimes() const { return calls.times; }
  /// Returns the bytes of the arguments' buffers as allocated, without those that another step
  /// owns.
  int64_t residentBytes() const { return resident; }
  /// Returns the bytes of those buffers that lie in the host's memory.
  int64_t residentOnHost() const { return onHost; }

private:
  friend class CompiledStep;
  /// Names the buffers of another step by the arguments that use them.
  struct Shared {
    const StepMemory *other = nullptr;
    llvm::ArrayRef<std::optional<unsigned>> arguments = {};

    std::optional<unsigned> find(size_t argument) const {
      return other ? arguments[argument] : std::nullopt;
    }
  };
  struct Release {
    size_t mapped = 0; // Bytes from the system; none where the heap gave them.
    void operator()(void *bytes) const;
  };
  struct Arenas {
    ArenaMemory own, host;
  };
  /// Holds the calls of the step, and of the update after its micro-batches.
  struct Calls {
    StepCall step, update;
    std::vector<int64_t> times;
  };
  StepMemory();
  void *allocateZeroed(int64_t bytes, bool wholePages = false);
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step, const Shared &shared);
  bool allocateBuffers(const CompiledStep &step, const Shared &shared);
  /// Places the buffers of a step on a GPU, possibly among those of another step.
  llvm::Error placeOnDevice(const CompiledStep &step, const Shared &shared);
  llvm::Error allocateArenas(const CompiledStep &step);
  /// Returns a call of a function of the step, whose profiled calls are `calls` of the step's.
  StepCall callOf(const CompiledStep &function, size_t firstCall, size_t calls);
  void addEmulator(const CompiledStep &function, StepCall &call);
  /// Sets the addresses of the buffers of a call on a GPU, once no other step will be added.
  void locateOnDevice(const CompiledStep &function, StepCall &call) const;

  std::vector<std::unique_ptr<void, Release>> blocks;
  /// Hold blocks of their own; null where there was no memory.
  llvm::SmallVector<void *> arguments, ownResults;
  /// Number the buffers: arguments first, then the results that are not donated.
  llvm::SmallVector<unsigned> results;
  Arenas arenas;
  /// It is declared after what it has pinned, which must outlive it. Steps that pin nothing of
  /// their own share it.
  std::shared_ptr<DeviceBuffers> onDevice;
  llvm::SmallVector<unsigned> numbersOnDevice; ///< The number of each buffer.
  Calls calls;
  int64_t resident = 0, onHost = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_COMPILEDSTEP_H
