//===- Violations.cpp - Broken rules as a plain list ----------------------------===//

#include "Violations.h"

using namespace llmmem;
using namespace llmmem::planning;

namespace {
struct OwnedViolations : llmmem_violations {
  explicit OwnedViolations(std::vector<Violation> found)
      : llmmem_violations(), violations(std::move(found)) {
    for (const Violation &it : violations)
      list.push_back({it.step, it.rule.c_str(), it.message.c_str()});
    size = sizeof(llmmem_violations);
    count = static_cast<int64_t>(list.size());
    items = list.data();
  }

  std::vector<Violation> violations;
  std::vector<llmmem_violation> list;
};
} // namespace

const llmmem_violations *capi::giveViolations(std::vector<Violation> found) {
  return new OwnedViolations(std::move(found));
}

void llmmem_free_violations(const llmmem_violations *violations) {
  delete static_cast<const OwnedViolations *>(violations);
}
