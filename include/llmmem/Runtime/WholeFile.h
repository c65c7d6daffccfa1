/*===- WholeFile.h - A file that is whole or absent, in C -------------------===*\
|*
|* Text goes to PATH.new, which replaces PATH once it is complete. A writer that is killed does not
|* change PATH, and the next one overwrites what it has left. Two writers of one path must take
|* turns. (C++ has llmmem/Support/TemporaryFile.h.)
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

#include "llmmem/Runtime/ExternC.h"
#include <stdio.h>

LLMMEM_EXTERN_C_BEGIN

typedef struct llmmem_whole_file {
  FILE *file;
  const char *path; /* It must outlive this. */
  char temporary[4096];
} llmmem_whole_file;

/* Returns 0, or the error's number: ENAMETOOLONG where `path` is too long to add to its name. */
int llmmem_whole_file_open(llmmem_whole_file *whole, const char *path);
/* Closes the file and renames it. Returns 0, or the number of the first error, also of a write;
 * then only what was at the path before is left. */
int llmmem_whole_file_keep(llmmem_whole_file *whole);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_WHOLEFILE_H */
