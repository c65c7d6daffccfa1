//===- AccessState.h - What a thread may access ---------------------------===//

#ifndef LLMMEM_LIB_EMULATION_ACCESSSTATE_H
#define LLMMEM_LIB_EMULATION_ACCESSSTATE_H

#include "BlockState.h"

namespace llmmem::emulation {

class AccessState : public BlockState {
public:
  /// Returns whether the thread may access the bytes; otherwise records a fault, and the thread
  /// must halt.
  bool mayAccess(const Thread &thread, int64_t number, int64_t base, int64_t offset, int64_t bytes);
  /// Does the same for the read of a copy, which may read less than it writes.
  bool mayCopy(const Thread &thread, int64_t number, int64_t base, int64_t offset, int64_t bytes);
  /// Does the same for the write of a copy to shared memory, which begins now and ends at an
  /// unknown time.
  bool startCopy(const Thread &thread, int64_t number, int64_t base, int64_t offset);
  /// Says that the thread's copies in all groups except the newest `groups` have written what they
  /// write.
  void finishCopies(const Thread &thread, int64_t groups);
  /// Returns where the bytes at `address` lie in the shared memory of block `rank` of the cluster,
  /// if the thread may access them there; otherwise returns 0 after a fault, and the thread must
  /// halt.
  char *visit(const Thread &thread, int64_t number, int64_t address, int64_t rank);
  bool maySynchronize(const Thread &thread, int64_t number, int32_t mask);
  bool mayShuffle(const Thread &thread, int64_t number, int32_t width);

protected:
  using BlockState::BlockState;

  bool mayReadTable(const Thread &thread, int64_t number, int64_t offset);
  bool mayAccessShared(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayAccessArgument(const Thread &thread, int64_t number, Argument &argument, int64_t first,
                         int64_t bytes);
  bool mayAccessFilled(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayOverwrite(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayWriteTile(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayVisit(const Thread &thread, int64_t number, RunningBlock &peer, int64_t first);
  /// Returns whether no wgmma may still read the bytes; otherwise fails with the message that the
  /// thread `verb` them.
  bool isFreeOfWgmma(const Thread &thread, int64_t number, const std::string &verb, int64_t first,
                     int64_t bytes) {
    return isFreeOfWgmma(thread, number, verb, *own, first, bytes);
  }
  bool isFreeOfWgmma(const Thread &thread, int64_t number, const std::string &verb,
                     const RunningBlock &of, int64_t first, int64_t bytes);
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_ACCESSSTATE_H
