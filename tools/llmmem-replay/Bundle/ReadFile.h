/*===- ReadFile.h - Whole files that come to an end -------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_READFILE_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_READFILE_H

#include <stddef.h>

/* Returns the contents of a file, with a zero after them, or null with the reason in `message`. A
 * pipe is read where a program writes to it, and up to 1 GiB; a FIFO without a writer for two
 * seconds, a folder and a device are refused (include/llmmem/Support/TextFile.h). */
char *read_file(const char *path, size_t *bytes, char *message, size_t size);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_READFILE_H */
