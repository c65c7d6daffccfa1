//===- Export.h - What a shared library offers ------------------------------===//
//
// The planner is compiled with hidden symbols. Its shared library exports only what LLMMEM_EXPORT
// marks, so that one process can load it together with any other LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_EXPORT_H
#define LLMMEM_SUPPORT_EXPORT_H

#define LLMMEM_EXPORT __attribute__((visibility("default")))

#endif // LLMMEM_SUPPORT_EXPORT_H
