/*===- GemmF32.c - Matrix products of f32, built in ------------------------===*/

#define ELEMENT float
#define WIDE float
#define WIDEN(x) (x)
#define NARROW(x) (x)
#define NAME llmmem_gemm_f32
#include "GemmLoops.h"
