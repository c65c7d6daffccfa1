//===- CudaRuntimeTest.cpp - What the runtime asks of the driver -----------===//
//
// Against a driver that logs its calls. No GPU is needed.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Runtime/Cuda.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace {

constexpr const char *kKernels = R"(
.visible .entry copy(.param .u64 .ptr .align 1 copy_param_0, .param .u64 copy_param_1) { ret; }
.visible .entry scale(
	.param .u64 .ptr .align 1 scale_param_0,
	.param .f32 scale_param_1
) { ret; }
)";

/// Launches `copy` and `scale` on byte 256 of the arena and on the first argument.
void twoLaunches(void *context) {
  auto *run = static_cast<llmmem_cuda *>(context);
  uint64_t both[] = {llmmem_cuda_resident(run), llmmem_cuda_arena(run) + 256};
  llmmem_cuda_launch(run, 0, 4, 1, 1, 256, 1, 1, 0, both, 2);
  uint64_t other[] = {llmmem_cuda_arena(run) + 256, 0x3f000000};
  llmmem_cuda_launch(run, 1, 2, 3, 1, 32, 1, 1, 60000, other, 2);
}

class CudaRuntime : public testing::Test {
protected:
  void SetUp() override {
    setenv("LLMMEM_FAKE_CUDA_LOG", log.c_str(), 1);
    unsetenv("LLMMEM_FAKE_CUDA_FAIL");
    unsetenv("LLMMEM_FAKE_CUDA_FREE");
  }
  void TearDown() override { std::remove(log.c_str()); }

  /// Everything that a run does. Returns what failed, or nothing.
  std::string runTwice() {
    char message[1024] = "";
    llmmem_cuda *run = llmmem_cuda_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
    if (!run)
      return message;
    float number = 0.5;
    bool failed = llmmem_cuda_load(run, kKernels) || llmmem_cuda_add_kernel(run, 0, "copy") ||
                  llmmem_cuda_add_kernel(run, 0, "scale") || llmmem_cuda_reserve(run, 512, 1024) ||
                  llmmem_cuda_upload(run, llmmem_cuda_resident(run) + 256, &number, 4) ||
                  llmmem_cuda_fill(run, llmmem_cuda_resident(run), 0, 256) ||
                  llmmem_cuda_capture(run, twoLaunches, run) || llmmem_cuda_replay(run) ||
                  llmmem_cuda_replay(run) ||
                  llmmem_cuda_download(run, &number, llmmem_cuda_resident(run) + 256, 4);
    measured = llmmem_cuda_measured_bytes(run);
    std::string why = llmmem_cuda_message(run);
    EXPECT_EQ(failed, !why.empty());
    EXPECT_TRUE(failed || number == 0.5);
    llmmem_cuda_close(run);
    return why;
  }

  std::string readLog() {
    std::ifstream file(log);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// Tests run in parallel, each in its own process.
  std::string log = testing::TempDir() + "cuda-runtime-" + std::to_string(getpid()) + ".log";
  int64_t measured = 0;
};

TEST_F(CudaRuntime, CapturesOnceAndReplays) {
  EXPECT_EQ(runTwice(), "");
  EXPECT_EQ(measured, 512 + 1024);
  EXPECT_EQ(readLog(), R"(module with 200 bytes
function copy
function scale
alloc A0 512 bytes
fill A0+0 512 bytes with 0
alloc A1 1024 bytes
fill A1+0 1024 bytes with 0
upload A0+256 4 bytes
fill A0+0 256 bytes with 0
capture 1 begins
node launch copy grid 4 1 1 block 256 1 1 shared 0 (A0+0, A1+256)
attribute 8 of scale is 60000
node launch scale grid 2 3 1 block 32 1 1 shared 60000 (A1+256, 0x3f000000)
capture ends with 2 nodes
replay of 2 nodes
replay of 2 nodes
download A0+256 4 bytes
free A1
free A0
left: 0 allocations, 0 modules, 0 streams, 0 graphs, 0 contexts, 0 events
)");
}

/// `scale`, nothing, then `copy` and `scale`.
void markedLaunches(void *context) {
  auto *run = static_cast<llmmem_cuda *>(context);
  uint64_t values[] = {llmmem_cuda_resident(run), llmmem_cuda_arena(run)};
  llmmem_cuda_mark(run, 0);
  llmmem_cuda_launch(run, 1, 1, 1, 1, 32, 1, 1, 0, values, 2);
  llmmem_cuda_mark(run, 1);
  llmmem_cuda_mark(run, 2);
  twoLaunches(run);
  llmmem_cuda_mark(run, 3);
}

TEST_F(CudaRuntime, TimesCallsAndReplaysByEvents) {
  setenv("LLMMEM_FAKE_CUDA_NS", "none=1,scale=70500", 1);
  char message[256] = "";
  llmmem_cuda *run = llmmem_cuda_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
  ASSERT_NE(run, nullptr) << message;
  int64_t ns[3] = {-1, -1, -1};
  EXPECT_FALSE(llmmem_cuda_load(run, kKernels) || llmmem_cuda_add_kernel(run, 0, "copy") ||
               llmmem_cuda_add_kernel(run, 0, "scale") || llmmem_cuda_reserve(run, 512, 1024) ||
               llmmem_cuda_run_marked(run, markedLaunches, run, ns, 3))
      << llmmem_cuda_message(run);
  EXPECT_EQ(ns[0], 70500);
  EXPECT_EQ(ns[1], 0);
  EXPECT_EQ(ns[2], 71500);
  // A marked run is not captured; a captured one takes what its launches take.
  EXPECT_EQ(readLog().find("capture"), std::string::npos);
  // The device is busy before the first launch.
  std::string fills;
  for (int k = 0; k < 64; ++k)
    fills += "fill A1+0 1024 bytes with 0\n";
  EXPECT_NE(readLog().find(fills + "launch scale grid 1 1 1"), std::string::npos) << readLog();
  EXPECT_FALSE(llmmem_cuda_capture(run, twoLaunches, run) || llmmem_cuda_replay(run))
      << llmmem_cuda_message(run);
  EXPECT_EQ(llmmem_cuda_replay_ns(run), 71500);
  llmmem_cuda_facts facts;
  EXPECT_FALSE(llmmem_cuda_describe(run, &facts));
  EXPECT_EQ(facts.cuda_version, 12000);
  EXPECT_EQ(facts.total_bytes - facts.free_bytes, 1536);
  llmmem_cuda_close(run);
  unsetenv("LLMMEM_FAKE_CUDA_NS");
  EXPECT_TRUE(llvm::StringRef(readLog()).ends_with(", 0 contexts, 0 events\n")) << readLog();
}

TEST_F(CudaRuntime, RefusesWhatDoesNotFitBeforeAllocating) {
  setenv("LLMMEM_FAKE_CUDA_FREE", "1535", 1);
  EXPECT_EQ(runTwice(), "no GPU, a fake driver: the step needs 1536 bytes (resident 512, arena "
                        "1024), and of the device's 1535 are 1535 free");
  EXPECT_EQ(readLog().find("alloc A"), std::string::npos);
  setenv("LLMMEM_FAKE_CUDA_FREE", "1536", 1);
  EXPECT_EQ(runTwice(), "");
}

TEST_F(CudaRuntime, SaysThatThereIsNoDriver) {
  char message[256];
  EXPECT_EQ(llmmem_cuda_open("libno-such-driver.so.1", 0, message, sizeof message), nullptr);
  EXPECT_TRUE(llvm::StringRef(message).starts_with("found no CUDA driver: libno-such-driver.so.1"))
      << message;
  EXPECT_EQ(llmmem_cuda_open("libc.so.6", 0, message, sizeof message), nullptr);
  EXPECT_STREQ(message, "the CUDA driver 'libc.so.6' has no function cuInit; expected one for CUDA "
                        "12 or later");
}

/// The n-th call of one of the driver's functions.
struct Fault {
  const char *call;
  const char *message;
};
void PrintTo(const Fault &fault, std::ostream *os) { *os << fault.call; }

class CudaFaults : public CudaRuntime, public testing::WithParamInterface<Fault> {};

TEST_P(CudaFaults, AreToldAndLeaveNothing) {
  setenv("LLMMEM_FAKE_CUDA_FAIL", GetParam().call, 1);
  std::string message = runTwice();
  EXPECT_TRUE(llvm::StringRef(message).starts_with(GetParam().message)) << message;
  EXPECT_TRUE(llvm::StringRef(readLog()).ends_with(
      "left: 0 allocations, 0 modules, 0 streams, 0 graphs, 0 contexts, 0 events\n"))
      << readLog();
}

INSTANTIATE_TEST_SUITE_P(
    Calls, CudaFaults,
    testing::Values(
        Fault{"cuInit:1",
              "starting the CUDA driver: unknown error (error 999, CUDA_ERROR_UNKNOWN)"},
        Fault{"cuDeviceGet:1", "finding a CUDA device: "},
        Fault{"cuDeviceGetName:1", "asking for the device's name: "},
        Fault{"cuDeviceGetAttribute:2", "asking for the device's capability: "},
        Fault{"cuDevicePrimaryCtxRetain:1", "opening the CUDA device: "},
        Fault{"cuCtxSetCurrent:1", "opening the CUDA device: "},
        Fault{"cuStreamCreate:1", "making a stream: "},
        Fault{"cuMemGetInfo_v2:1", "asking for the device's free memory: "},
        Fault{"cuMemGetInfo_v2:2", "asking for the device's free memory: "},
        Fault{"cuModuleLoadDataEx:1",
              "loading the kernels\nptxas application ptx input, line 1; fatal : the log of the "
              "assembler: a PTX JIT compilation failed (error 218, CUDA_ERROR_INVALID_PTX)"},
        Fault{"cuModuleGetFunction:1", "copy: "}, Fault{"cuModuleGetFunction:2", "scale: "},
        Fault{"cuMemAlloc_v2:1", "allocating the step's arguments: "},
        Fault{"cuMemAlloc_v2:2", "allocating the arena: "},
        Fault{"cuMemsetD8Async:1", "allocating the step's arguments: "},
        Fault{"cuMemsetD8Async:3", "filling the device's memory: "},
        Fault{"cuMemcpyHtoDAsync_v2:1", "copying to the device: "},
        Fault{"cuStreamSynchronize:1", "clearing the device's memory: "},
        Fault{"cuStreamSynchronize:2", "copying to the device: "},
        Fault{"cuStreamBeginCapture_v2:1", "capturing the step: "},
        Fault{"cuLaunchKernel:1", "copy: "}, Fault{"cuLaunchKernel:2", "scale: "},
        Fault{"cuFuncSetAttribute:1", "scale: "},
        Fault{"cuStreamEndCapture:1", "capturing the step: "},
        Fault{"cuGraphInstantiateWithFlags:1", "making a graph of the step: "},
        Fault{"cuEventCreate:1", "timing the step: "},
        Fault{"cuEventCreate:2", "timing the step: "},
        Fault{"cuEventRecord:2", "timing the step: "},
        Fault{"cuEventElapsedTime:1", "timing the step: "},
        Fault{"cuGraphLaunch:1", "running the step: "},
        Fault{"cuGraphLaunch:2", "running the step: "},
        Fault{"cuStreamSynchronize:3", "running the step: "},
        Fault{"cuMemcpyDtoHAsync_v2:1", "copying from the device: "}));

} // namespace
