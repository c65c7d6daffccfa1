//===- LatentMembers.h - Sums of latent rows that a cluster's blocks add ----===//
//
// The members of a cluster that have the same heads have read different rows. Each adds the sums of
// all of them, in their order, in a part of the columns: it gets these from the others' threads
// with its own number, as all divide heads and columns alike. What it gets lies in its workgroup
// memory, over the tiles, 16 bytes a thread and fragment: the sums of one fragment, or the maxima
// and totals of the thread's two heads.
//
//   4 members, 32 fragments of a thread: member 1 adds fragments 8 to 15
//     member 0, thread 5: fragments 8 to 15 -> member 1's memory, slot 0, thread 5
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_LATENTMEMBERS_H
#define LLMMEM_LIB_CODEGEN_GPU_LATENTMEMBERS_H

#include "MmaRows.h"
#include "llmmem/Targets/LatentParts.h"

namespace llmmem {

class MemberSums {
public:
  /// Of this block's part in its cluster. Threads have `fragments` of sums each.
  MemberSums(KernelEmitter &e, const llm::LatentParts &parts, Buffer memory, int64_t threads,
             int64_t fragments, Index thread, Index group, Index member)
      : e(e), parts(parts), threads(threads), fragments(fragments), thread(thread), group(group),
        member(member), slots(deviceLoops(e).partOf(
                            e, memory, 0, bytes(parts, threads, fragments) / 4, e.computeType())) {}

  /// Workgroup memory, in bytes.
  static int64_t bytes(const llm::LatentParts &parts, int64_t threads, int64_t fragments) {
    return parts.together * threads * (fragmentsOf(parts, fragments) + 1) * kBytes;
  }
  /// Fragments that a member adds; the last members may have fewer.
  static int64_t fragmentsOf(const llm::LatentParts &parts, int64_t fragments) {
    return llvm::divideCeil(fragments, parts.together);
  }

  /// Hands over the thread's sums, and of its two heads the largest score and the total of powers;
  /// known to all lanes of a head. All threads of the cluster run it, as it has two of its
  /// barriers. After it `largest` and `totals` are those of all members.
  void exchange(llvm::ArrayRef<Num> ownLargest, llvm::ArrayRef<Num> ownTotals,
                llvm::ArrayRef<FragmentC> sums);
  /// The sums of all members in this one's fragments, 0 where it has fewer, and the first of these.
  FragmentsC add();
  Index firstFragment() { return member * fragmentsOf(parts, fragments); }

  std::array<Num, 2> largest, totals;

private:
  static constexpr int64_t kBytes = 16, kNumbers = 4;

  int64_t perMember() const { return fragmentsOf(parts, fragments); }
  /// Where thread's number of fragment `number` of a slot begins.
  Index placeOf(Index slot, int64_t number) {
    return ((slot * (perMember() + 1) + number) * threads + thread) * kNumbers;
  }
  FragmentC load(int64_t slot, int64_t number);

  KernelEmitter &e;
  llm::LatentParts parts;
  int64_t threads, fragments;
  Index thread, group, member;
  Buffer slots;
  /// By member: the weights of its sums, of two heads.
  llvm::SmallVector<std::array<Num, 2>> weights;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_LATENTMEMBERS_H
