//===- CudaHostTest.cpp - Copies to and from the host, and updates there ----===//
//
// Against a driver that logs its calls, copies when a graph is replayed, and refuses what races.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Runtime/Cuda.h"
#include "llmmem/Runtime/HostCopies.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace {

constexpr const char *kKernel = R"(
.visible .entry read(.param .u64 .ptr .align 1 read_param_0) { ret; }
)";
constexpr int64_t kBytes = 256, kPage = 4096;

/// Adds the bytes of its first buffer, a gradient, to those of its second.
void addGradient(const uint64_t *words) {
  for (int64_t byte = 0; byte < kBytes; ++byte)
    reinterpret_cast<char *>(words[1])[byte] += reinterpret_cast<const char *>(words[0])[byte];
}

/// A device with an argument of `kBytes` at `argument`, an arena at `arena`, and a pinned page.
class CudaHost : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("LLMMEM_FAKE_CUDA_LOG");
    unsetenv("LLMMEM_FAKE_CUDA_FAIL");
    char message[1024] = "";
    run = llmmem_cuda_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
    ASSERT_TRUE(run) << message;
    page = static_cast<char *>(
        mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_FALSE(llmmem_cuda_load(run, kKernel) || llmmem_cuda_add_kernel(run, 0, "read") ||
                 llmmem_cuda_reserve(run, kBytes, 2 * kBytes) || llmmem_cuda_pin(run, page, kPage))
        << llmmem_cuda_message(run);
    argument = llmmem_cuda_resident(run);
    arena = llmmem_cuda_arena(run);
    host = reinterpret_cast<uint64_t>(page);
  }
  void TearDown() override {
    llmmem_cuda_close(run);
    munmap(page, kPage);
  }

  void up(uint64_t to, uint64_t from) {
    llmmem_cuda_host_copy_start(run, to, from, kBytes, LLMMEM_COPY_TO_HOST);
  }
  void down(uint64_t to, uint64_t from) {
    llmmem_cuda_host_copy_start(run, to, from, kBytes, LLMMEM_COPY_TO_DEVICE);
  }
  void wait(int64_t direction) { llmmem_cuda_host_copy_wait(run, direction); }
  /// The gradient is copied to the begin of the page, and the parameter lies after it.
  void update() {
    uint64_t words[] = {host, host + kBytes};
    llmmem_cuda_update_start(run, addGradient, words, 2);
    words[0] = words[1] = 0; // the runtime has a copy
  }
  void launch(uint64_t buffer) { llmmem_cuda_launch(run, 0, 1, 1, 1, 32, 1, 1, 0, &buffer, 1); }

  /// Returns what fails while the step is captured, or an empty text.
  std::string capture(llvm::function_ref<void()> step) {
    llmmem_cuda_capture(
        run, [](void *opaque) { (*static_cast<llvm::function_ref<void()> *>(opaque))(); }, &step);
    return llmmem_cuda_message(run);
  }

  llmmem_cuda *run = nullptr;
  char *page = nullptr;
  uint64_t argument = 0, arena = 0, host = 0;
};

TEST_F(CudaHost, CopiesInEachReplay) {
  std::string why = capture([&] {
    up(host, argument);
    wait(LLMMEM_COPY_TO_HOST);
    down(arena + kBytes, host);
    launch(arena);
    wait(LLMMEM_COPY_TO_DEVICE);
    launch(arena + kBytes);
  });
  EXPECT_EQ(why, "");
  for (char byte : {'a', 'b'}) {
    std::string given(kBytes, byte), found(kBytes, ' ');
    ASSERT_FALSE(llmmem_cuda_upload(run, argument, given.data(), kBytes) ||
                 llmmem_cuda_replay(run) ||
                 llmmem_cuda_download(run, found.data(), arena + kBytes, kBytes));
    EXPECT_EQ(found, given);
    EXPECT_EQ(std::string(page, kBytes), given);
  }
}

TEST_F(CudaHost, CopiesInOrderWithoutAStream) {
  EXPECT_EQ(capture([&] {
              llmmem_cuda_host_copy(run, host, argument, kBytes, LLMMEM_COPY_TO_HOST);
              llmmem_cuda_host_copy(run, arena, host, kBytes, LLMMEM_COPY_TO_DEVICE);
              launch(arena);
            }),
            "");
}

TEST_F(CudaHost, RefusesAReadBeforeTheCopyIsBack) {
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                down(arena, host);
                launch(arena);
                wait(LLMMEM_COPY_TO_DEVICE);
              })).starts_with("read: "));
}

TEST_F(CudaHost, RefusesAReuseBeforeTheCopyHasLeft) {
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                up(host, arena);
                down(arena, host + kBytes);
                wait(LLMMEM_COPY_TO_HOST);
                wait(LLMMEM_COPY_TO_DEVICE);
              })).starts_with("copying between the device and the host: "));
}

TEST_F(CudaHost, RefusesAWaitForTheWrongDirection) {
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                down(arena, host);
                up(host + kBytes, argument);
                wait(LLMMEM_COPY_TO_HOST);
                launch(arena);
                wait(LLMMEM_COPY_TO_DEVICE);
              })).starts_with("read: "));
}

TEST_F(CudaHost, RefusesAStepThatEndsBeforeItsCopies) {
  EXPECT_TRUE(
      llvm::StringRef(capture([&] { up(host, argument); })).starts_with("capturing the step: "));
}

TEST_F(CudaHost, RefusesMemoryThatIsNotPinned) {
  llmmem_cuda_unpin(run, page);
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                up(host, argument);
                wait(LLMMEM_COPY_TO_HOST);
              })).starts_with("copying between the device and the host: "));
}

TEST_F(CudaHost, RefusesAWaitForNothing) {
  EXPECT_EQ(capture([&] { wait(LLMMEM_COPY_TO_HOST); }),
            "copying between the device and the host: waits for a copy that nobody started");
}

TEST_F(CudaHost, UpdatesInEachReplay) {
  std::string why = capture([&] {
    up(host, argument);
    wait(LLMMEM_COPY_TO_HOST);
    update();
    launch(arena);
    llmmem_cuda_update_wait(run);
    down(arena + kBytes, host + kBytes);
    wait(LLMMEM_COPY_TO_DEVICE);
    launch(arena + kBytes);
  });
  EXPECT_EQ(why, "");
  for (char sum : {5, 10, 15}) {
    std::string given(kBytes, 5), found(kBytes, ' ');
    ASSERT_FALSE(llmmem_cuda_upload(run, argument, given.data(), kBytes) ||
                 llmmem_cuda_replay(run) ||
                 llmmem_cuda_download(run, found.data(), arena + kBytes, kBytes));
    EXPECT_EQ(found, std::string(kBytes, sum));
  }
}

TEST_F(CudaHost, UpdatesInOrderWithoutAStream) {
  uint64_t words[] = {host, host + kBytes};
  EXPECT_EQ(capture([&] {
              llmmem_cuda_host_copy(run, host, argument, kBytes, LLMMEM_COPY_TO_HOST);
              llmmem_cuda_update(run, addGradient, words, 2);
              llmmem_cuda_host_copy(run, arena, host + kBytes, kBytes, LLMMEM_COPY_TO_DEVICE);
            }),
            "");
}

TEST_F(CudaHost, TimesUpdatesByMarks) {
  int64_t ns = 0, starts[2] = {};
  auto launches = [&] {
    llmmem_cuda_mark(run, 0);
    for (int k = 0; k < 2; ++k) {
      update();
      llmmem_cuda_update_wait(run);
    }
    llmmem_cuda_mark(run, 1);
  };
  llvm::function_ref<void()> step = launches;
  auto call = [](void *opaque) { (*static_cast<llvm::function_ref<void()> *>(opaque))(); };
  ASSERT_FALSE(llmmem_cuda_run_marked(run, call, &step, &ns, 1) ||
               llmmem_cuda_read_starts(run, starts, 2))
      << llmmem_cuda_message(run);
  EXPECT_GT(starts[0], 0);
  EXPECT_EQ(starts[1], starts[0]);
}

TEST_F(CudaHost, UpdatesNothingBehindARunThatFails) {
  int64_t ns = 0;
  auto launches = [&] {
    llmmem_cuda_mark(run, 0);
    update();
    wait(LLMMEM_COPY_TO_HOST);
  };
  llvm::function_ref<void()> step = launches;
  auto call = [](void *opaque) { (*static_cast<llvm::function_ref<void()> *>(opaque))(); };
  std::memset(page, 1, kPage);
  EXPECT_TRUE(llmmem_cuda_run_marked(run, call, &step, &ns, 1));
  EXPECT_EQ(std::string(page + kBytes, kBytes), std::string(kBytes, 2));
}

TEST_F(CudaHost, RefusesAnUpdateBeforeItsGradient) {
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                up(host, argument);
                update();
                wait(LLMMEM_COPY_TO_HOST);
                llmmem_cuda_update_wait(run);
              })).starts_with("updating on the host: "));
}

TEST_F(CudaHost, RefusesACopyOfWhatIsUpdated) {
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                update();
                down(arena, host + kBytes);
                llmmem_cuda_update_wait(run);
                wait(LLMMEM_COPY_TO_DEVICE);
              })).starts_with("copying between the device and the host: "));
}

TEST_F(CudaHost, RefusesAReuseBeforeTheUpdateHasRead) {
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                update();
                up(host, argument);
                llmmem_cuda_update_wait(run);
                wait(LLMMEM_COPY_TO_HOST);
              })).starts_with("copying between the device and the host: "));
}

TEST_F(CudaHost, RefusesAStepThatEndsBeforeItsUpdates) {
  EXPECT_TRUE(llvm::StringRef(capture([&] { update(); })).starts_with("capturing the step: "));
}

TEST_F(CudaHost, RefusesAWaitForNoUpdate) {
  EXPECT_EQ(capture([&] { llmmem_cuda_update_wait(run); }),
            "updating on the host: waits for an update that nobody started");
}

TEST_F(CudaHost, TellsThatAnUpdateCannotBeLaunched) {
  setenv("LLMMEM_FAKE_CUDA_FAIL", "cuLaunchHostFunc:1", 1);
  EXPECT_TRUE(llvm::StringRef(capture([&] {
                update();
                llmmem_cuda_update_wait(run);
              })).starts_with("updating on the host: "));
}

TEST_F(CudaHost, TellsThatMemoryCannotBePinned) {
  setenv("LLMMEM_FAKE_CUDA_FAIL", "cuMemHostRegister_v2:1", 1);
  char other[1];
  EXPECT_TRUE(llmmem_cuda_pin(run, other, 1));
  EXPECT_TRUE(
      llvm::StringRef(llmmem_cuda_message(run)).starts_with("pinning memory of the host: "));
}

} // namespace
