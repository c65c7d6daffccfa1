/*===- TensorMaps.h - What a launch says about a tensor map -----------------===*\
|*
|* A kernel may take tensor maps after its other arguments
|* (include/llmmem/Codegen/Gpu/TensorMap.h). The driver encodes each when the kernel is launched or
|* captured.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_TENSORMAPS_H
#define LLMMEM_RUNTIME_TENSORMAPS_H

#include <stdint.h>

/* Describes a matrix of 16-bit elements by words alone, so that compiled code can store it. Numbers
 * count elements. A box has 64 columns, in the 128-byte swizzle. */
typedef struct {
  int64_t argument;       /* The argument of the launch whose address `begin` counts from. */
  int64_t begin;          /* Where the matrix begins. */
  int64_t first_argument; /* The argument of the launch that adds elements to `begin`; -1 means
                           * none. */
  int64_t rows, columns, pitch;
  int64_t box_rows;
  int64_t is_f16; /* The value 0 means bf16. */
} llmmem_tensor_map;

enum { LLMMEM_TENSOR_MAP_WORDS = sizeof(llmmem_tensor_map) / sizeof(int64_t) };

#endif /* LLMMEM_RUNTIME_TENSORMAPS_H */
