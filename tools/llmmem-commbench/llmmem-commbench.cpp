//===- llmmem-commbench.cpp - Measure collectives for a device table -------===//

#include "Measurement.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/DeviceRanks.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llmmem;

static cl::OptionCategory category("Options of the measurement");
static cl::opt<std::string> table("table", cl::cat(category), cl::value_desc("json"),
                                  cl::desc("The device table that the times are added to ('-' "
                                           "reads stdin); without it only the times are written"));
static cl::opt<std::string> output("o", cl::cat(category), cl::value_desc("json"), cl::init("-"),
                                   cl::desc("Where the table goes (default stdout)"));
static cl::opt<std::string> largest("largest", cl::cat(category), cl::value_desc("bytes"),
                                    cl::init("64MiB"), cl::desc("The largest value"));
static cl::opt<int> repetitions("repetitions", cl::cat(category), cl::init(7),
                                cl::desc("Of each, whose median counts (default 7)"));
static cl::opt<std::string>
    nccl("nccl", cl::cat(category), cl::value_desc("library"),
         cl::desc("Measure the GPUs' collectives by this NCCL (libnccl.so.2), one rank a GPU"));
static cl::opt<std::string> cudaDriver("cuda-driver", cl::cat(category), cl::value_desc("library"),
                                       cl::init("libcuda.so.1"),
                                       cl::desc("With --nccl: the driver (libcuda.so.1)"));
static const std::string help = R"(
EXAMPLE
  llmmem-opt --checkpoint-device=cpu --print-device-table > cpu.json
  mpirun -n 4 llmmem-commbench --table cpu.json -o here.json
  torchrun --no-python --nproc-per-node 8 llmmem-commbench --nccl=libnccl.so.2 --table h100.json -o node.json
  llmmem-opt --mesh=dp=4 --zero=3 --checkpoint-device=here.json --checkpoint-budget=2GB model.mlir -o step.mlir
)" + exitCodeHelp("llmmem-commbench");
static cl::extrahelp extraHelp(help);

/// Fails on all ranks alike; one says why.
static int fail(const Twine &message) {
  if (llmmem_rank() == 0)
    errs() << "llmmem-commbench: " << message << "\n";
  return ExitBadInput;
}

/// Returns the number of ranks before the job is joined; launchers say it.
static int64_t ranksOfLauncher() {
  for (const char *variable :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
    if (const char *value = std::getenv(variable))
      return std::strtoll(value, nullptr, 10);
  return 1;
}

/// Returns the table that the rows go into, which is an empty object without --table.
static Expected<json::Object> readTable() {
  if (table.empty())
    return json::Object();
  Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(table);
  if (!text)
    return text.takeError();
  Expected<json::Value> value = parseJsonTree((*text)->getBuffer());
  if (!value)
    return createStringError("'" + table + "': " + toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return createStringError("'" + table + "' is no device table: expected a JSON object");
  return std::move(*object);
}

static json::Array measure(ArrayRef<int64_t> axes, const MeasurementRange &range) {
  json::Array rows;
  measureCollectives(axes, range, [&](const CollectiveTime &time) {
    rows.push_back(json::Object{
        {"op", time.op}, {"ranks", time.ranks}, {"bytes", time.bytes}, {"ns", time.ns}});
    if (llmmem_rank() == 0)
      errs() << formatv("{0,-15} {1,4} ranks {2,12} bytes {3,12} ns {4,8} GB/s\n", time.op,
                        time.ranks, time.bytes, time.ns,
                        formatv("{0:f2}", static_cast<double>(time.bytes) / time.ns));
  });
  return rows;
}

/// Fails on one rank alone: without a driver, or on a device with other work. The message is one
/// write, as other ranks write to the same stream.
static int failAlone(const Twine &message) {
  errs() << ("llmmem-commbench: rank " + Twine(llmmem_rank()) + ": " + message + "\n").str();
  llmmem_ranks_abort(ExitNoDevice);
  return ExitNoDevice;
}

/// Measures, and writes the table where this is rank 0.
static int write(ArrayRef<int64_t> axes, const MeasurementRange &range) {
  if (llmmem_rank() != 0) {
    measure(axes, range);
    return ExitSuccess;
  }
  // This is checked before minutes of measuring, which the others have begun.
  Expected<json::Object> object = readTable();
  if (!object) {
    int code = fail(toString(object.takeError()));
    llmmem_ranks_abort(code);
    return code;
  }
  (*object)["collectives"] = measure(axes, range);
  std::string text = formatv("{0:2}\n", json::Value(std::move(*object)));
  if (Error error = writeTextFile(output, text))
    return fail(toString(std::move(error)));
  return ExitSuccess;
}

/// Ranks that measure other sizes, or another number of times, would wait for each other.
static bool measureAlike(const MeasurementRange &range) {
  const int64_t own[] = {range.largest, range.repetitions, !nccl.empty()};
  std::vector<int64_t> all(std::size(own) * llmmem_ranks());
  llmmem_all_gather_bytes(own, all.data(), sizeof own, (int64_t{1} << LLMMEM_MOST_AXES) - 1);
  for (size_t at = 0; at < all.size(); ++at)
    if (all[at] != all[at % std::size(own)])
      return false;
  return true;
}

static int run() {
  MeasurementRange range;
  Expected<int64_t> bytes = parseByteSize(largest);
  if (!bytes)
    return fail("--largest: " + toString(bytes.takeError()));
  if (*bytes < range.smallest || repetitions < 1)
    return fail("expected --largest of 1 KiB or more, and --repetitions of 1 or more");
  range.largest = *bytes;
  range.repetitions = repetitions;
  std::vector<int64_t> axes = axesOf(ranksOfLauncher());
  if (axes.empty())
    return fail("there is nobody to talk to: start it with 'mpirun -n 4', or as many ranks as will "
                "run");
  char message[1024];
  int uses = nccl.empty() ? 0 : LLMMEM_RANKS_ON_DEVICES;
  if (llmmem_ranks_begin(static_cast<int64_t>(axes.size()), axes.data(), uses, message,
                         sizeof message))
    return fail(message);
  if (!measureAlike(range))
    return fail("the ranks have different --largest, --repetitions or --nccl; start all with the "
                "same flags");
  if (nccl.empty())
    return write(axes, range);
  range.device = llmmem_cuda_open(cudaDriver.c_str(), llmmem_local_rank(), message, sizeof message);
  if (!range.device || llmmem_ranks_use_device(range.device, nccl.c_str(), message, sizeof message))
    return failAlone(message);
  int code = write(axes, range);
  if (*llmmem_cuda_message(range.device))
    return failAlone(llmmem_cuda_message(range.device));
  llmmem_ranks_leave_device(0);
  llmmem_cuda_close(range.device);
  return code;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  startTool("llmmem-commbench");
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "llmmem-commbench: measures the collectives of this machine\n");
  int code = run();
  llmmem_ranks_end();
  return code;
}
