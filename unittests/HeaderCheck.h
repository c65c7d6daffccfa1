//===- HeaderCheck.h - Our declarations of a library against its header ----===//
//
// Headers of ours declare the functions of a library, so that nothing of its vendor is needed to
// build. Where the vendor's own header is there, the two are compared while compiling.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_HEADERCHECK_H
#define LLMMEM_UNITTESTS_HEADERCHECK_H

namespace llmmem::test {

/// Says whether a function of theirs can be called as ours says: it has as many parameters, each of
/// the size of its counterpart.
template <typename Result, typename... Parameters, typename TheirResult, typename... Theirs>
constexpr bool callsAlike(Result (*)(Parameters...), TheirResult (*)(Theirs...)) {
  if constexpr (sizeof...(Parameters) != sizeof...(Theirs))
    return false;
  else
    return sizeof(Result) == sizeof(TheirResult) && ((sizeof(Parameters) == sizeof(Theirs)) && ...);
}

} // namespace llmmem::test

/// Compares one constant of a list (LLMMEM_NCCL_CONSTANTS).
#define LLMMEM_COMPARE_CONSTANT(ours, theirs, value)                                               \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs);

#endif // LLMMEM_UNITTESTS_HEADERCHECK_H
