/*===- WholeFile.c - A file that is whole or absent -------------------------===*/

#include "llmmem/Runtime/WholeFile.h"
#include <errno.h>

int llmmem_whole_file_open(llmmem_whole_file *whole, const char *path) {
  whole->path = path;
  if (snprintf(whole->beside, sizeof whole->beside, "%s.new", path) >= (int)sizeof whole->beside)
    return ENAMETOOLONG;
  whole->file = fopen(whole->beside, "w");
  return whole->file ? 0 : errno;
}

int llmmem_whole_file_keep(llmmem_whole_file *whole) {
  int failed = ferror(whole->file);
  failed |= fclose(whole->file) != 0;
  if (!failed && rename(whole->beside, whole->path) == 0)
    return 0;
  int why = errno ? errno : EIO;
  remove(whole->beside);
  return why;
}
