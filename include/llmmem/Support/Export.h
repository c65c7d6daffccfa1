//===- Export.h - What a shared library offers ------------------------------===//
//
// The planner is compiled with hidden symbols: a shared library of it offers what LLMMEM_EXPORT
// marks and nothing else, so that it can stand beside any other LLVM in one process.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_EXPORT_H
#define LLMMEM_SUPPORT_EXPORT_H

#define LLMMEM_EXPORT __attribute__((visibility("default")))

#endif // LLMMEM_SUPPORT_EXPORT_H
