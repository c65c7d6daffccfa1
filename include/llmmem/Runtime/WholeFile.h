/*===- WholeFile.h - A file that is whole or absent, in C -------------------===*\
|*
|* What is written goes to PATH.new, which takes the place of PATH once it is whole. A writer that
is
|* killed leaves PATH as it was, and the next one overwrites what it has left. Two writers of one
|* path must take turns. (C++ has llmmem/Support/TemporaryFile.h.)
|*
|*   llmmem_whole_file whole;
|*   if (llmmem_whole_file_open(&whole, path) == 0) {
|*     fputs("text", whole.file);
|*     failed = llmmem_whole_file_keep(&whole);
|*   }
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_WHOLEFILE_H
#define LLMMEM_RUNTIME_WHOLEFILE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmmem_whole_file {
  FILE *file;
  const char *path; /* must outlive this */
  char beside[4096];
} llmmem_whole_file;

/* 0, or the error's number: ENAMETOOLONG where `path` is too long for a name beside it. */
int llmmem_whole_file_open(llmmem_whole_file *whole, const char *path);
/* Closes the file and renames it. 0, or the number of the first error, that of a write included;
 * then nothing is left beside the path. */
int llmmem_whole_file_keep(llmmem_whole_file *whole);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_WHOLEFILE_H */
