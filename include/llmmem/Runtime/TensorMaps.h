/*===- TensorMaps.h - What a launch says of a tensor map --------------------===*\
|*
|* A kernel may take tensor maps behind its other arguments
(include/llmmem/Codegen/Gpu/TensorMap.h).
|* The driver encodes each when the kernel is launched or captured.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_TENSORMAPS_H
#define LLMMEM_RUNTIME_TENSORMAPS_H

#include <stdint.h>

/* A matrix of 16-bit elements: words alone, so that compiled code can store it. Numbers are of
 * elements; a box has 64 columns, in the 128-byte swizzle. */
typedef struct {
  int64_t argument;       /* of the launch: the address from which on `begin` counts */
  int64_t begin;          /* of the matrix */
  int64_t first_argument; /* of the launch: more elements to its begin; -1: none */
  int64_t rows, columns, pitch;
  int64_t box_rows;
  int64_t is_f16; /* else bf16 */
} llmmem_tensor_map;

enum { LLMMEM_TENSOR_MAP_WORDS = sizeof(llmmem_tensor_map) / sizeof(int64_t) };

#endif /* LLMMEM_RUNTIME_TENSORMAPS_H */
