/*===- GemmF64.c - Matrix products of f64 ----------------------------------===*/

#define ELEMENT double
#define WIDE double
#define WIDEN(x) (x)
#define NARROW(x) (x)
#define NAME llmmem_gemm_f64
#include "GemmLoops.h"
