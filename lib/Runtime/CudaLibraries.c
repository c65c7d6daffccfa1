/*===- CudaLibraries.c - Where NVIDIA's libraries are -----------------------===*/

#define _DEFAULT_SOURCE /* scandir, alphasort */
#include "llmmem/Runtime/CudaLibraries.h"
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const char *const *names;
  size_t count;
  int (*open)(void *context, const char *name);
  void *context;
} Search;

static int open_in(const Search *search, const char *folder) {
  for (size_t k = 0; k < search->count; ++k) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, search->names[k]) < (int)sizeof path &&
        access(path, F_OK) == 0 && search->open(search->context, path) == 0)
      return 0;
  }
  return 1;
}

static int open_of_user(const Search *search) {
  static const char *const parts[] = {"", "/lib64", "/lib"};
  const char *at = getenv("LLMMEM_CUDA_PATH");
  while (at && *at) {
    size_t length = strcspn(at, ":");
    for (size_t k = 0; length > 0 && k < sizeof parts / sizeof *parts; ++k) {
      char folder[PATH_MAX];
      snprintf(folder, sizeof folder, "%.*s%s", (int)length, at, parts[k]);
      if (open_in(search, folder) == 0)
        return 0;
    }
    at += length + (at[length] == ':');
  }
  return 1;
}

/* Calls `visit` with the folders in `folder` whose names begin so, in the order of their names. */
static int for_folders(const char *folder, const char *prefix, const Search *search,
                       int (*visit)(const Search *search, const char *path)) {
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort), failed = 1;
  for (int k = 0; k < count; ++k) {
    char path[PATH_MAX];
    int fits = snprintf(path, sizeof path, "%s/%s", folder, entries[k]->d_name) < (int)sizeof path;
    if (failed && fits && entries[k]->d_name[0] != '.' &&
        strncmp(entries[k]->d_name, prefix, strlen(prefix)) == 0)
      failed = visit(search, path);
    free(entries[k]);
  }
  free(entries);
  return failed;
}

static int open_of_package(const Search *search, const char *package) {
  char folder[PATH_MAX];
  return snprintf(folder, sizeof folder, "%s/lib", package) < (int)sizeof folder
             ? open_in(search, folder)
             : 1;
}

static int open_of_version(const Search *search, const char *version) {
  static const char *const packages[] = {"site-packages/nvidia", "dist-packages/nvidia"};
  for (size_t k = 0; k < sizeof packages / sizeof *packages; ++k) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/%s", version, packages[k]) < (int)sizeof folder &&
        for_folders(folder, "", search, open_of_package) == 0)
      return 0;
  }
  return 1;
}

/* An environment's python3 is a link to another one, whose packages are not meant: links stay. */
static int open_of_python(const Search *search) {
  const char *at = getenv("PATH");
  while (at && *at) {
    int length = (int)strcspn(at, ":"), named = length;
    while (named > 1 && at[named - 1] == '/')
      --named;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/python3", named, at);
    if (length > 0 && access(path, X_OK) == 0) {
      char *bin = strrchr(path, '/');
      *bin = '\0';
      char *above = strrchr(path, '/'), *end = above ? above : path;
      snprintf(end, sizeof path - (size_t)(end - path), above ? "/lib" : "lib");
      return for_folders(path, "python", search, open_of_version);
    }
    at += length + (at[length] == ':');
  }
  return 1;
}

int llmmem_find_cuda_library(const char *const *names, size_t count,
                             int (*open)(void *context, const char *name), void *context) {
  Search search = {names, count, open, context};
  if (open_of_user(&search) == 0)
    return 0;
  for (size_t k = 0; k < count; ++k)
    if (open(context, names[k]) == 0)
      return 0;
  return open_of_python(&search);
}
