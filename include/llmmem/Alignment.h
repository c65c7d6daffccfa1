/*===- Alignment.h - Where buffers may begin ------------------------------===*\
|*
|* In plain C and below every library: planners, passes, lowering, the runtime and what replays
|* bundles all begin buffers at these multiples.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_ALIGNMENT_H
#define LLMMEM_ALIGNMENT_H

/* Every buffer begins at a multiple of this, in an arena and outside of it, and takes whole
 * multiples of it. Allocators of devices promise 256, and cuBLASLt and a GPU's widest loads want
 * it. */
#define LLMMEM_ARENA_ALIGNMENT 256

/* The least multiple at which generated code may read a buffer: the widest vector that one access
 * moves. */
#define LLMMEM_VECTOR_ALIGNMENT 16

#ifdef __cplusplus
#include <cstdint>

namespace llmmem {
inline constexpr int64_t kArenaAlignment = LLMMEM_ARENA_ALIGNMENT;
inline constexpr int64_t kVectorAlignment = LLMMEM_VECTOR_ALIGNMENT;
} // namespace llmmem
#endif

#endif /* LLMMEM_ALIGNMENT_H */
