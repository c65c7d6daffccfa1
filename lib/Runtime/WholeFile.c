/*===- WholeFile.c - A file that is whole or absent -------------------------===*/

#include "llmmem/Runtime/WholeFile.h"
#include <errno.h>

int llmmem_whole_file_open(llmmem_whole_file *whole, const char *path) {
  whole->path = path;
  if (snprintf(whole->temporary, sizeof whole->temporary, "%s.new", path) >=
      (int)sizeof whole->temporary)
    return ENAMETOOLONG;
  whole->file = fopen(whole->temporary, "w");
  return whole->file ? 0 : errno;
}

int llmmem_whole_file_keep(llmmem_whole_file *whole) {
  int failed = ferror(whole->file);
  failed |= fclose(whole->file) != 0;
  if (!failed && rename(whole->temporary, whole->path) == 0)
    return 0;
  int why = errno ? errno : EIO;
  remove(whole->temporary);
  return why;
}
