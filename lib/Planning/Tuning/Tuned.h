//===- Tuned.h - Constants that a build for measurements can vary -------------------===//
//
// `LLMMEM_TUNED(int, mostRepairs, 6);` defines a constant. Where LLMMEM_TUNING is defined, it has
// the value that the environment variable LLMMEM_TUNE gives it (mostRepairs=3,movesPerOp=100), and
// a searcher can be switched off (without=eviction).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_TUNING_TUNED_H
#define LLMMEM_LIB_PLANNING_TUNING_TUNED_H

#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>

#ifdef LLMMEM_TUNING
#include <cstdlib>
#define LLMMEM_TUNED(type, name, value)                                                            \
  inline const type name = static_cast<type>(valueFromEnvironment(#name, value))
#else
#define LLMMEM_TUNED(type, name, value) inline constexpr type name = value
#endif

namespace llmmem::planning::tuning {

#ifdef LLMMEM_TUNING
/// Calls `visit` with the two sides of each setting.
template <typename Visit>
void forEachSetting(Visit visit) {
  const char *text = std::getenv("LLMMEM_TUNE");
  for (llvm::StringRef rest = text ? text : ""; !rest.empty();) {
    auto [setting, others] = rest.split(',');
    auto [name, value] = setting.split('=');
    visit(name, value);
    rest = others;
  }
}
inline double valueFromEnvironment(llvm::StringRef wanted, double byDefault) {
  forEachSetting([&](llvm::StringRef name, llvm::StringRef value) {
    if (name == wanted)
      value.getAsDouble(byDefault);
  });
  return byDefault;
}
inline bool isOff(llvm::StringRef searcher) {
  bool found = false;
  forEachSetting([&](llvm::StringRef name, llvm::StringRef value) {
    found |= name == "without" && value == searcher;
  });
  return found;
}
#else
/// Says whether a measurement switches the searcher off.
constexpr bool isOff(llvm::StringRef /*searcher*/) { return false; }
#endif

} // namespace llmmem::planning::tuning

#endif // LLMMEM_LIB_PLANNING_TUNING_TUNED_H
