//===- InThreads.h - Work on all cores -----------------------------*- C++ -*-===//

#ifndef LLMMEM_LIB_FIT_INTHREADS_H
#define LLMMEM_LIB_FIT_INTHREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"

namespace llmmem {

/// Calls `work` with 0 to `count - 1`, on all cores, and returns after the last call.
inline void inThreads(size_t count, llvm::function_ref<void(size_t)> work) {
  if (count < 2) {
    for (size_t number = 0; number < count; ++number)
      work(number);
    return;
  }
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(count));
  for (size_t number = 0; number < count; ++number)
    pool.async([&work, number] { work(number); });
  pool.wait();
}

} // namespace llmmem

#endif // LLMMEM_LIB_FIT_INTHREADS_H
