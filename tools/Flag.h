//===- Flag.h - A flag of a tool ---------------------------------*- C++ -*-===//

#ifndef LLMMEM_TOOLS_FLAG_H
#define LLMMEM_TOOLS_FLAG_H

#include "llmmem/Support/ChoiceParser.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Has the flag's name, what --help shows as its value (empty: what its type is called), and its
/// sentence; then what else cl::opt takes, as cl::init.
template <typename T>
struct Flag : llvm::cl::opt<T> {
  template <typename... Others>
  Flag(llvm::cl::OptionCategory &category, llvm::StringRef name, llvm::StringRef value,
       llvm::StringRef text, const Others &...others)
      : llvm::cl::opt<T>(name, llvm::cl::cat(category), llvm::cl::value_desc(value),
                         llvm::cl::desc(text), others...) {}
};

/// Is a flag that sets a variable, whose value is the default.
template <typename T>
struct BoundFlag : llvm::cl::opt<T, /*ExternalStorage=*/true> {
  template <typename... Others>
  BoundFlag(llvm::cl::OptionCategory &category, T &variable, llvm::StringRef name,
            llvm::StringRef value, llvm::StringRef text, const Others &...others)
      : llvm::cl::opt<T, true>(name, llvm::cl::cat(category), llvm::cl::location(variable),
                               llvm::cl::value_desc(value), llvm::cl::desc(text), others...) {}
};

/// Is a flag with one of some named values.
template <typename T>
using Choice = llvm::cl::opt<T, /*ExternalStorage=*/false, ChoiceParser<T>>;

/// Returns the first of these flags that the command line has, or null.
template <typename... Flags>
const llvm::cl::Option *firstGiven(const Flags &...flags) {
  for (const llvm::cl::Option *flag :
       {static_cast<const llvm::cl::Option *>(std::addressof(flags))...})
    if (flag->getNumOccurrences())
      return flag;
  return nullptr;
}

/// Says what is wrong where the condition holds.
struct Refusal {
  bool isWrong;
  llvm::StringRef why;
};

/// Fails with the first sentence whose condition holds.
inline llvm::Error refuse(std::initializer_list<Refusal> list) {
  for (const Refusal &it : list)
    if (it.isWrong)
      return llvm::createStringError(it.why);
  return llvm::Error::success();
}

} // namespace llmmem

#endif // LLMMEM_TOOLS_FLAG_H
