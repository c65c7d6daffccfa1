//===- LlvmResult.h - Between Result and llvm::Expected ---------------------===//

#ifndef LLMMEM_SUPPORT_LLVMRESULT_H
#define LLMMEM_SUPPORT_LLVMRESULT_H

#include "llmmem/Support/Result.h"
#include "llvm/Support/Error.h"

namespace llmmem {

template <typename T>
Result<T> toResult(llvm::Expected<T> expected) {
  if (!expected)
    return Failure{llvm::toString(expected.takeError())};
  return std::move(*expected);
}

template <typename T>
llvm::Expected<T> toExpected(Result<T> result) {
  if (!result)
    return llvm::createStringError(result.error());
  return std::move(*result);
}

} // namespace llmmem

#endif // LLMMEM_SUPPORT_LLVMRESULT_H
