/*===- GemmNone.c - No library of matmuls was found ------------------------===*/

#include "llmmem/Runtime/Gemm.h"
#include <stddef.h>

const llmmem_gemm_library *llmmem_find_gemm_library(void) { return NULL; }
