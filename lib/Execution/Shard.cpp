//===- Shard.cpp - The part of a whole that a rank holds -------------------===//

#include "llmmem/Execution/Shard.h"
#include "llmmem/Runtime/Collectives.h"

using namespace llmmem;

int64_t Shard::position() const { return axes ? llmmem_group_position(axes) : 0; }

std::vector<char> Shard::gather(llvm::ArrayRef<char> part) const {
  std::vector<char> whole(part.size() * parts);
  llmmem_all_gather_bytes(part.data(), whole.data(), static_cast<int64_t>(part.size()), axes);
  return whole;
}
