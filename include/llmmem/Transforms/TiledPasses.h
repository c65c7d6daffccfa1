//===- TiledPasses.h - Ops that go through their rows in parts, as passes --===//
//
// They have a header of their own because few sources name them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_TILEDPASSES_H
#define LLMMEM_TRANSFORMS_TILEDPASSES_H

#include "mlir/Pass/Pass.h"

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Transforms/TiledPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmmem/Transforms/TiledPasses.h.inc"

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_TILEDPASSES_H
