//===- HostCopyTest.cpp - What meets a copy that nothing has waited for ----===//

#include "llmmem/Emulation/Emulator.h"
#include "llmmem/Emulation/Hooks.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llmmem::emulation;

namespace {

enum { Up, Down }; // directions
constexpr int64_t kBytes = 64;

/// A kernel that writes its only argument.
void writeArgument(Thread *, const uint64_t *arguments) {
  std::memset(reinterpret_cast<void *>(arguments[0]), 'k', kBytes);
}

/// Two buffers of the device and two of the host. Value 0 lies in the first; call 0 copies it to
/// the host as value 1, call 1 brings that back as value 2, and calls 2 and 3 launch the kernel on
/// value 2, which call 2 writes.
class HostCopies : public testing::Test {
protected:
  void SetUp() override {
    if (!isEmulatorBuilt())
      GTEST_SKIP() << "built without the emulator";
    std::memset(device, 'd', sizeof device);
    for (char *buffer : {device[0], device[1], host[0], host[1]})
      emulator.addBuffer(buffer, kBytes,
                         buffer == device[0] ? Emulator::Contents::Given
                                             : Emulator::Contents::None);
    emulator.beginStep();
  }

  static Program program() {
    Program made;
    made.kernels = {{"write", {kBytes}, 0, false}};
    made.launches = {{0, {0}}};
    made.calls = {{{0, 1}, {false, true}}, {{1, 2}, {false, true}}, {{2}, {true}}, {{2}, {false}}};
    return made;
  }

  void copy(int64_t call, char *to, const char *from, int64_t direction, bool isStarted = true) {
    llmmem_emulate_host_copy(&emulator, call, reinterpret_cast<int64_t>(to),
                             reinterpret_cast<int64_t>(from), kBytes, direction, isStarted);
  }
  void wait(int64_t direction) { llmmem_emulate_host_copy_wait(&emulator, direction); }
  void launch(char *buffer, int64_t call = 2) {
    uint64_t arguments[] = {reinterpret_cast<uint64_t>(buffer)};
    int64_t shape[] = {1, 1, 1, 1, 1, 1, 0};
    llmmem_emulate_call(&emulator, call);
    llmmem_emulate_launch(&emulator, 0, writeArgument, arguments, shape);
  }
  std::string fault() const { return emulator.fault() ? emulator.fault()->message : ""; }

  Emulator emulator{program()};
  alignas(64) char device[2][kBytes], host[2][kBytes] = {};
};

TEST_F(HostCopies, ComeBackWithTheirBytes) {
  copy(0, host[0], device[0], Up);
  wait(Up);
  copy(1, device[1], host[0], Down);
  wait(Down);
  launch(device[0]);
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(std::memcmp(device[1], host[0], kBytes), 0);
  EXPECT_EQ(device[0][0], 'k');
}

TEST_F(HostCopies, MayBeReadWhileTheyLeave) {
  copy(0, host[0], device[0], Up);
  copy(0, host[1], device[0], Up, /*isStarted=*/false);
  EXPECT_EQ(fault(), "");
}

TEST_F(HostCopies, AreNotReadBeforeTheyAreBack) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  copy(1, device[1], host[0], Down);
  launch(device[1], /*call=*/3);
  EXPECT_EQ(fault(),
            "gets argument 0, which a copy from the host writes, and nothing has waited for it");
}

TEST_F(HostCopies, AreNotOverwrittenBeforeTheyHaveLeft) {
  copy(0, host[0], device[0], Up);
  launch(device[0]);
  EXPECT_EQ(fault(),
            "gets argument 0, which a copy to the host reads, and nothing has waited for it");
}

TEST_F(HostCopies, DoNotMeetEachOther) {
  copy(0, host[0], device[0], Up);
  copy(1, device[1], host[0], Down);
  EXPECT_EQ(fault(), "copies bytes which a copy to the host writes, and nothing has waited for it");
}

TEST_F(HostCopies, DoNotShareATarget) {
  copy(0, host[0], device[0], Up);
  copy(0, host[0], device[0], Up);
  EXPECT_EQ(fault(),
            "copies to bytes which a copy to the host writes, and nothing has waited for it");
}

TEST_F(HostCopies, CopyNoOtherValue) {
  copy(1, device[1], host[0], Down);
  EXPECT_EQ(fault(), "copies byte 0 as value 1, which does not hold it");
}

TEST_F(HostCopies, AreStartedBeforeTheyAreWaitedFor) {
  wait(Down);
  EXPECT_EQ(fault(), "waits for a copy that nothing has started");
}

TEST_F(HostCopies, LieInsideBuffers) {
  copy(0, host[0], device[1] + kBytes / 2, Up);
  EXPECT_EQ(fault(), "copies 64 bytes that do not lie inside a buffer of the step");
}

} // namespace
