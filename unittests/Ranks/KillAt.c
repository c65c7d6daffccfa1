/*===- KillAt.c - A process that is killed at a chosen call ----------------===*\
|*
|*   LD_PRELOAD=kill-at.so KILL_AT=rename:2 llmmem-run step.mlir --save file
|*
|* Instead of its second rename the process gets SIGKILL, as from outside at that time. fsync and
|* unlink may be named as well.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void count(const char *call) {
  static atomic_int calls;
  const char *where = getenv("KILL_AT");
  size_t length = strlen(call);
  if (where && strncmp(where, call, length) == 0 && where[length] == ':' &&
      atomic_fetch_add(&calls, 1) + 1 == strtol(where + length + 1, NULL, 10))
    raise(SIGKILL);
}

int fsync(int file) {
  count("fsync");
  int (*next)(int);
  *(void **)&next = dlsym(RTLD_NEXT, "fsync");
  return next(file);
}

int rename(const char *from, const char *to) {
  count("rename");
  int (*next)(const char *, const char *);
  *(void **)&next = dlsym(RTLD_NEXT, "rename");
  return next(from, to);
}

int unlink(const char *path) {
  count("unlink");
  int (*next)(const char *);
  *(void **)&next = dlsym(RTLD_NEXT, "unlink");
  return next(path);
}
