//===- llmmem-emulate.cpp - Run a module of GPU kernels, with each access checked ===//

#include "Flag.h"
#include "Tools.h"
#include "llmmem/Alignment.h"
#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Pipelines/KernelPipelines.h"
#include "llmmem/Pipelines/ProgramFile.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

using namespace llvm;
using namespace llmmem;

static int fail(const Twine &message) {
  errs() << "llmmem-emulate: " << message << "\n";
  return ExitBadInput;
}

namespace {
/// The arguments of the function, and what its buffers hold.
class Buffers {
public:
  static FailureOr<Buffers> of(mlir::func::FuncOp function);

  void give(emulation::Emulator &emulator);
  /// A pointer to each argument, as the packed entry expects; the emulator is the last.
  std::vector<void *> pack(emulation::Emulator &emulator);
  /// Prints the first `count` elements of each buffer but the arena.
  void print(int64_t count) const;
  /// Reads the buffers from the files of `folder`, and writes them back.
  Error read(StringRef folder);
  Error write(StringRef folder) const;

private:
  struct Buffer {
    mlir::MemRefType type;
    bool isArena = false;
    std::unique_ptr<char, void (*)(void *)> bytes = {nullptr, std::free};

    int64_t size() const { return llmmem::bytesOfBuffer(type); }
  };

  void fill(Buffer &buffer);
  static Error readFrom(StringRef path, Buffer &buffer);
  double element(const Buffer &buffer, int64_t index) const;

  std::vector<Buffer> buffers;
  std::vector<void *> addresses;
};
} // namespace

void Buffers::fill(Buffer &buffer) {
  int64_t size = alignTo(std::max<int64_t>(buffer.size(), 1), kArenaAlignment);
  buffer.bytes.reset(static_cast<char *>(std::aligned_alloc(kArenaAlignment, size)));
  std::memset(buffer.bytes.get(), 0, size);
  mlir::Type element = buffer.type.getElementType();
  unsigned bytes = llmmem::bytesOfNumber(element);
  for (int64_t index = 0; !buffer.isArena && index < buffer.type.getNumElements(); ++index) {
    int64_t number = index % 128;
    if (auto type = dyn_cast<mlir::FloatType>(element)) {
      APFloat value(static_cast<double>(number));
      bool loses = false;
      value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
      number = static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
    }
    std::memcpy(buffer.bytes.get() + index * bytes, &number, bytes);
  }
}

FailureOr<Buffers> Buffers::of(mlir::func::FuncOp function) {
  Buffers all;
  for (auto [number, type] : enumerate(function.getArgumentTypes())) {
    auto buffer = dyn_cast<mlir::MemRefType>(type);
    if (!buffer || !buffer.hasStaticShape() || !buffer.getElementType().isIntOrFloat() ||
        buffer.getElementTypeBitWidth() % 8 != 0) {
      function.emitError("argument ")
          << number << " is " << type << "; expected buffers of numbers, of static shape";
      return failure();
    }
    all.buffers.push_back({buffer, number == 0 && buffer.getElementType().isInteger(8)});
    all.fill(all.buffers.back());
  }
  return all;
}

Error Buffers::readFrom(StringRef path, Buffer &buffer) {
  Expected<std::unique_ptr<MemoryBuffer>> file = readTextFile(path, FileKind::Data);
  if (!file)
    return file.takeError();
  if (static_cast<int64_t>((*file)->getBufferSize()) != buffer.size())
    return createStringError(formatv("'{0}' has {1} bytes; its buffer has {2}", path,
                                     (*file)->getBufferSize(), buffer.size()));
  std::memcpy(buffer.bytes.get(), (*file)->getBufferStart(), buffer.size());
  return Error::success();
}

Error Buffers::read(StringRef folder) {
  for (auto [number, buffer] : enumerate(buffers))
    if (Error error = readFrom(formatv("{0}/{1}", folder, number).str(), buffer))
      return error;
  return Error::success();
}

Error Buffers::write(StringRef folder) const {
  for (auto [number, buffer] : enumerate(buffers))
    if (Error error = writeTextFile(formatv("{0}/{1}", folder, number).str(),
                                    StringRef(buffer.bytes.get(), buffer.size())))
      return error;
  return Error::success();
}

void Buffers::give(emulation::Emulator &emulator) {
  using Contents = emulation::Emulator::Contents;
  for (const Buffer &buffer : buffers)
    emulator.addBuffer(buffer.bytes.get(), buffer.size(),
                       buffer.isArena ? Contents::None : Contents::Given);
}

std::vector<void *> Buffers::pack(emulation::Emulator &emulator) {
  addresses.clear();
  for (const Buffer &buffer : buffers)
    addresses.push_back(buffer.bytes.get());
  addresses.push_back(&emulator);
  std::vector<void *> packed;
  packed.reserve(addresses.size());
  for (void *&address : addresses)
    packed.push_back(static_cast<void *>(&address));
  return packed;
}

double Buffers::element(const Buffer &buffer, int64_t index) const {
  mlir::Type type = buffer.type.getElementType();
  int64_t bits = 0;
  unsigned width = type.getIntOrFloatBitWidth();
  std::memcpy(&bits, buffer.bytes.get() + index * (width / 8), width / 8);
  if (!isa<mlir::FloatType>(type))
    return static_cast<double>(SignExtend64(bits, width));
  APFloat value(cast<mlir::FloatType>(type).getFloatSemantics(), APInt(width, bits, false, true));
  bool loses = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

void Buffers::print(int64_t count) const {
  for (auto [number, buffer] : enumerate(buffers)) {
    if (buffer.isArena)
      continue;
    outs() << "argument " << number << ":";
    for (int64_t index = 0; index < std::min<int64_t>(count, buffer.type.getNumElements()); ++index)
      outs() << format(" %.9g", element(buffer, index));
    outs() << "\n";
  }
}

/// Erases what `function` does not reach: a module has the kernels of a whole step, and compiling
/// them takes longer than running one.
static void eraseOthers(mlir::ModuleOp module, mlir::func::FuncOp function) {
  llvm::StringSet<> launched, called = {function.getName()};
  SmallVector<mlir::func::FuncOp> reached = {function};
  while (!reached.empty()) {
    mlir::func::FuncOp next = reached.pop_back_val();
    next.walk([&](mlir::gpu::LaunchFuncOp launch) {
      launched.insert(launch.getKernelName().getValue());
    });
    next.walk([&](mlir::func::CallOp call) {
      auto callee = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee());
      if (callee && called.insert(callee.getName()).second)
        reached.push_back(callee);
    });
  }
  for (auto other : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>()))
    if (!called.contains(other.getName()))
      other.erase();
  for (auto kernels : module.getOps<mlir::gpu::GPUModuleOp>())
    for (auto kernel : llvm::make_early_inc_range(kernels.getOps<mlir::gpu::GPUFuncOp>()))
      if (!launched.contains(kernel.getName()))
        kernel.erase();
}

namespace {
class EmulateTool {
public:
  int run(int argc, char **argv) {
    InitLLVM init(argc, argv);
    startTool("llmmem-emulate");
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(
        argc, argv, "llmmem-emulate: runs GPU kernels on the CPU, each access checked\n");
    if (!emulation::isEmulatorBuilt())
      return fail("llmmem was built without Boost.Context (libboost-context-dev)");
    mlir::DialectRegistry registry;
    registerExecution(registry);
    registry.insert<mlir::cf::ControlFlowDialect>();
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    Expected<std::unique_ptr<ProgramFile>> file = ProgramFile::parse(context, inputFile);
    if (!file)
      return fail(toString(file.takeError()));
    mlir::ModuleOp module = *(*file)->module;
    auto function = module.lookupSymbol<mlir::func::FuncOp>(functionName);
    if (!function)
      return fail("'" + inputFile + "' has no function @" + functionName);
    return runFunction(module, function);
  }

private:
  int runFunction(mlir::ModuleOp module, mlir::func::FuncOp function) {
    FailureOr<Buffers> buffers = Buffers::of(function);
    if (failed(buffers))
      return ExitBadInput;
    eraseOthers(module, function);
    mlir::PassManager lowering(module.getContext());
    buildEmulatedKernelsPipeline(lowering);
    if (failed(lowering.run(module)))
      return ExitBadInput;
    Emulation emulation = Emulation::takeFrom(module);
    Expected<NativeCode> code =
        compileToNative(module, functionName, {.processor = {}, .optimize = false});
    if (!code)
      return fail(toString(code.takeError()));
    emulation::Emulator emulator(emulation.program());
    if (!folder.empty())
      if (Error error = buffers->read(folder))
        return fail(toString(std::move(error)));
    buffers->give(emulator);
    emulator.beginStep();
    code->entry(buffers->pack(emulator).data());
    emulator.endStep();
    if (const emulation::Fault *fault = emulator.fault()) {
      emulation.report(*fault);
      return ExitBadInput;
    }
    if (folder.empty())
      buffers->print(printed);
    else if (Error error = buffers->write(folder))
      return fail(toString(std::move(error)));
    return ExitSuccess;
  }

  cl::OptionCategory category{"Options of the emulator"};
  cl::opt<std::string> inputFile{cl::Positional, cl::cat(category), cl::init("-"),
                                 cl::desc("<module of GPU kernels>")};
  Flag<std::string> functionName{category, "function", "",
                                 "The host function to run (default step)", cl::init("step")};
  Flag<int64_t> printed{category, "print", "elements",
                        "Elements to print of each buffer (default 16)", cl::init(16)};
  Flag<std::string> folder{category, "buffers", "folder",
                           "Buffer i holds the bytes of FOLDER/i at first, and is written back "
                           "there instead of printed"};
  const std::string help = R"(
The module has the form of docs/Design/Gpu.md: gpu.modules, and host functions with gpu.launch_func. Element i of a
buffer holds i modulo 128 at first. A first argument of bytes (memref<Nxi8>) is the arena, which holds nothing.

EXAMPLE
  llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining step.mlir | llmmem-emulate
)" + exitCodeHelp("llmmem-emulate");
  cl::extrahelp extraHelp{help};
};
} // namespace

int llmmem::emulateMain(int argc, char **argv) { return EmulateTool().run(argc, argv); }
