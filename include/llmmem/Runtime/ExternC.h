/*===- ExternC.h - C's linkage for what C and C++ include -------------------===*/

#ifndef LLMMEM_RUNTIME_EXTERNC_H
#define LLMMEM_RUNTIME_EXTERNC_H

#ifdef __cplusplus
#define LLMMEM_EXTERN_C_BEGIN extern "C" {
#define LLMMEM_EXTERN_C_END }
#else
#define LLMMEM_EXTERN_C_BEGIN
#define LLMMEM_EXTERN_C_END
#endif

#endif /* LLMMEM_RUNTIME_EXTERNC_H */
