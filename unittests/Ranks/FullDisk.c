/*===- FullDisk.c - A disk that is full at a chosen call -------------------===*\
|*
|*   mpirun -n 2 -x LD_PRELOAD=full-disk.so -x FULL_DISK=1:pwrite llmmem-run step.mlir --save file
|*
|* On rank 1 every call of pwrite fails as on a full disk. posix_fallocate and fsync may be named
|* as well.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int is_full(const char *call) {
  const char *where = getenv("FULL_DISK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  const char *colon = where ? strchr(where, ':') : NULL;
  return colon && strcmp(colon + 1, call) == 0 && atoi(where) == (rank ? atoi(rank) : 0);
}

int posix_fallocate(int file, off_t offset, off_t length) {
  if (is_full("posix_fallocate"))
    return ENOSPC;
  int (*next)(int, off_t, off_t);
  *(void **)&next = dlsym(RTLD_NEXT, "posix_fallocate");
  return next(file, offset, length);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  if (is_full("pwrite")) {
    errno = ENOSPC;
    return -1;
  }
  ssize_t (*next)(int, const void *, size_t, off_t);
  *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
  return next(file, bytes, count, offset);
}

int fsync(int file) {
  if (is_full("fsync")) {
    errno = ENOSPC;
    return -1;
  }
  int (*next)(int);
  *(void **)&next = dlsym(RTLD_NEXT, "fsync");
  return next(file);
}
