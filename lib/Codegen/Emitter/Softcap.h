//===- Softcap.h - Numbers bent back below a cap, and the slope -----------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_SOFTCAP_H
#define LLMMEM_LIB_CODEGEN_EMITTER_SOFTCAP_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

inline Num softcap(Num x, double cap) { return tanh(x / cap) * cap; }

/// Returns the derivative where the result is `y`: 1 - tanh^2.
inline Num softcapSlope(Num y, double cap) {
  Num t = y / cap;
  return 1.0 - t * t;
}

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_SOFTCAP_H
