//===- HostCopyTest.cpp - What meets what nothing has waited for ----------===//

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

/// Adds the bytes of its first buffer, a gradient, to those of its second.
void addGradient(const uint64_t *words) {
  auto *gradient = reinterpret_cast<const char *>(words[0]);
  auto *parameter = reinterpret_cast<char *>(words[1]);
  for (int64_t byte = 0; byte < kBytes; ++byte)
    parameter[byte] = static_cast<char>(parameter[byte] + gradient[byte]);
}

/// Two buffers of the device and two of the host. Value 0 lies in the first; call 0 copies it to
/// the host as value 1, call 1 brings that back as value 2, and calls 2 and 3 launch the kernel on
/// value 2, which call 2 writes. Call 4 updates value 3, which the second buffer of the host holds,
/// by value 1, and call 5 copies that from there as value 2.
class HostCopies : public testing::Test {
protected:
  void SetUp() override {
    if (!isEmulatorBuilt())
      GTEST_SKIP() << "built without the emulator";
    std::memset(device, 'd', sizeof device);
    for (char *buffer : {device[0], device[1], host[0], host[1]})
      emulator.addBuffer(buffer, kBytes,
                         buffer == device[0] || buffer == host[1] ? Emulator::Contents::Given
                                                                  : Emulator::Contents::None);
    emulator.beginStep();
  }

  static Program program() {
    Program made;
    made.kernels = {{"write", {kBytes}, 0, false}};
    made.launches = {{0, {0}}};
    made.calls = {{{0, 1}, {false, true}}, {{1, 2}, {false, true}}, {{2}, {true}},
                  {{2}, {false}},          {{1, 3}, {false, true}}, {{3, 2}, {false, true}}};
    return made;
  }

  void copy(int64_t call, char *to, const char *from, int64_t direction, bool isStarted = true) {
    llmmem_emulate_host_copy(&emulator, call, reinterpret_cast<int64_t>(to),
                             reinterpret_cast<int64_t>(from), kBytes, direction, isStarted);
  }
  void wait(int64_t direction) { llmmem_emulate_host_copy_wait(&emulator, direction); }
  void update(int64_t bytes = kBytes, bool isStarted = true) {
    uint64_t words[] = {reinterpret_cast<uint64_t>(host[0]), reinterpret_cast<uint64_t>(host[1])};
    int64_t sizes[] = {kBytes, bytes};
    llmmem_emulate_update(&emulator, 4, addGradient, words, sizes, isStarted);
  }
  void waitForUpdate() { llmmem_emulate_update_wait(&emulator); }
  void launch(char *buffer, int64_t call = 2) {
    uint64_t arguments[] = {reinterpret_cast<uint64_t>(buffer)};
    int64_t shape[] = {1, 1, 1, 1, 1, 1, 0};
    llmmem_emulate_call(&emulator, call);
    llmmem_emulate_launch(&emulator, 0, writeArgument, arguments, shape);
  }
  /// The runtime accesses value 2 in a call that only reads it.
  void access(char *buffer) {
    llmmem_emulate_call(&emulator, 3);
    llmmem_emulate_runtime_access(&emulator, reinterpret_cast<int64_t>(buffer), kBytes, 0);
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

TEST_F(HostCopies, AreNotAccessedByTheRuntimeBeforeTheyAreBack) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  copy(1, device[1], host[0], Down);
  access(device[1]);
  EXPECT_EQ(fault(),
            "accesses bytes which a copy from the host writes, and nothing has waited for it");
}

TEST_F(HostCopies, AreAccessedByTheRuntimeWhenTheyAreBack) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  copy(1, device[1], host[0], Down);
  wait(Down);
  access(device[1]);
  EXPECT_EQ(fault(), "");
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

TEST_F(HostCopies, LetAnUpdateRunBetweenThem) {
  host[1][0] = 1;
  copy(0, host[0], device[0], Up);
  wait(Up);
  update();
  waitForUpdate();
  copy(5, device[1], host[1], Down);
  wait(Down);
  launch(device[1], /*call=*/3);
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(host[1][0], 'd' + 1);
  EXPECT_EQ(host[1][1], 'd');
}

TEST_F(HostCopies, AreOverBeforeAnUpdateReadsThem) {
  copy(0, host[0], device[0], Up);
  update();
  EXPECT_EQ(fault(),
            "updates by bytes which a copy to the host writes, and nothing has waited for it");
  EXPECT_EQ(host[1][0], 0);
}

TEST_F(HostCopies, BringDownWhatAnUpdateHasFinished) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update();
  copy(5, device[1], host[1], Down);
  EXPECT_EQ(fault(),
            "copies bytes which an update on the host writes, and nothing has waited for it");
}

TEST_F(HostCopies, DoNotReuseWhatAnUpdateReads) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update();
  copy(0, host[0], device[0], Up);
  EXPECT_EQ(fault(),
            "copies to bytes which an update on the host reads, and nothing has waited for it");
}

TEST_F(HostCopies, AreOverBeforeAnUpdateOverwritesThem) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update(kBytes, /*isStarted=*/false);
  copy(5, device[1], host[1], Down);
  update();
  EXPECT_EQ(fault(),
            "updates bytes which a copy from the host reads, and nothing has waited for it");
}

TEST_F(HostCopies, MayMeetUpdatesInTheirOrder) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update();
  update();
  waitForUpdate();
  waitForUpdate();
  EXPECT_EQ(fault(), "");
}

TEST_F(HostCopies, MeetAnUpdateAtOnceBehindTheWaitForStartedOnes) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update();
  waitForUpdate();
  update(kBytes, /*isStarted=*/false);
  EXPECT_EQ(fault(), "");
}

TEST_F(HostCopies, DoNotLetAnUpdateAtOnceMeetAStartedOne) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update();
  update(kBytes, /*isStarted=*/false);
  EXPECT_EQ(fault(),
            "updates bytes which an update on the host writes, and nothing has waited for it");
}

TEST_F(HostCopies, AreMadeBeforeAnUpdate) {
  update();
  EXPECT_EQ(fault(), "updates by byte 0 as value 1, which does not hold it");
}

TEST_F(HostCopies, AreWaitedForBeforeTheStepEnds) {
  copy(0, host[0], device[0], Up);
  emulator.endStep();
  EXPECT_EQ(fault(), "ends the step, and nothing has waited for a copy to the host, which starts "
                     "here");
  EXPECT_EQ(emulator.fault()->call, 0);
}

TEST_F(HostCopies, LetTheStepEndBehindTheirWaits) {
  copy(0, host[0], device[0], Up);
  wait(Up);
  emulator.endStep();
  EXPECT_EQ(fault(), "");
}

TEST_F(HostCopies, LetUpdatesEndBeforeTheStep) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update();
  emulator.endStep();
  EXPECT_EQ(fault(), "ends the step, and nothing has waited for an update on the host, which "
                     "starts here");
  EXPECT_EQ(emulator.fault()->call, 4);
}

TEST_F(HostCopies, AreNoUpdates) {
  copy(0, host[0], device[0], Up);
  waitForUpdate();
  EXPECT_EQ(fault(), "waits for an update that nothing has started");
}

TEST_F(HostCopies, LetUpdatesLieInsideBuffers) {
  copy(0, host[0], device[0], Up, /*isStarted=*/false);
  update(2 * kBytes + 1);
  EXPECT_EQ(fault(), "updates 129 bytes that do not lie inside a buffer of the step");
}

TEST_F(HostCopies, LieInsideBuffers) {
  copy(0, host[0], device[1] + kBytes / 2, Up);
  EXPECT_EQ(fault(), "copies 64 bytes that do not lie inside a buffer of the step");
}

} // namespace
