//===- MuonWorkspace.h - What a part of llm.muon's workspace holds ---------===//

#ifndef LLMMEM_DIALECT_MUONWORKSPACE_H
#define LLMMEM_DIALECT_MUONWORKSPACE_H

#include "llmmem/Support/Count.h"

namespace llmmem::llm {

/// Returns the elements that a part of `size` takes, so that the next begins where a vector of 16
/// bytes of f32 may. Example: 28 for the 27 of a parameter of 3 x 9.
inline Count muonPart(Count size) { return alignTo(size, 4); }

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_MUONWORKSPACE_H
