/*===- Libraries.h - Where NVIDIA's libraries are ---------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_LIBRARIES_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_LIBRARIES_H

#include <stddef.h>

/* Calls `open` with names for dlopen, best first, until it returns 0: files in the folders of
 * LLMMEM_CUDA_PATH, the names themselves, files among the packages of python3 (as
 * include/llmmem/Execution/CudaLibraries.h does). Returns what the last call did; 1 without any. */
int find_library(const char *const *names, size_t count,
                 int (*open)(void *context, const char *name), void *context);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_LIBRARIES_H */
