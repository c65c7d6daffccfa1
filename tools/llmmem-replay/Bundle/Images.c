/*===- Images.c - The machine code of a bundle ------------------------------===*/

#define _GNU_SOURCE /* memfd_create */
#include "Bundle/Bundle.h"
#include "Bundle/ReadFile.h"
#include "llmmem/Runtime/Samples.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static Image read_image(const Json *json) {
  return (Image){json_text(json, "chip", ""), json_text(json, "file", ""),
                 json_integer(json, "bytes", -1), strtoull(json_text(json, "hash", "0"), NULL, 16)};
}

/* Machine code of sm_80 runs on every 8.x, that of sm_90a on 9.0 alone; PTX of sm_80 is compiled by
 * the driver of any later device. */
static int runs_on(const Image *image, int capability) {
  size_t length = strlen(image->file);
  int is_ptx = length > 4 && strcmp(image->file + length - 4, ".ptx") == 0;
  int chip = (int)strtol(image->chip + strlen("sm_"), NULL, 10);
  if (strchr(image->chip, 'a'))
    return chip == capability;
  return chip <= capability && (is_ptx || chip / 10 == capability / 10);
}

/* Returns the number of the latest chip for which the module has an image that runs, or 0. */
static int latest_image(const Program *program, size_t module, int capability, Image *found) {
  JsonItems images = json_items(json_find(&program->modules.items[module], "images"));
  int best = 0;
  for (size_t k = 0; k < images.count; ++k) {
    Image image = read_image(&images.items[k]);
    int chip = strncmp(image.chip, "sm_", 3) == 0 ? (int)strtol(image.chip + 3, NULL, 10) : 0;
    if (chip > best && runs_on(&image, capability)) {
      best = chip;
      *found = image;
    }
  }
  return best;
}

const Program *bundle_program(const Bundle *bundle, const char *products, int capability) {
  const Program *best = NULL;
  int latest = -1;
  for (size_t k = 0; k < bundle->program_count; ++k) {
    const Program *program = &bundle->programs[k];
    if (strcmp(program->products, products) != 0)
      continue;
    Image image;
    int chip = program->modules.count > 0 ? latest_image(program, 0, capability, &image) : 0;
    if (chip > latest) {
      latest = chip;
      best = program;
    }
  }
  return best;
}

const Image *bundle_image(const Bundle *bundle, const Program *program, size_t module,
                          int capability, Image *found, char *message, size_t size) {
  if (latest_image(program, module, capability, found) > 0)
    return found;
  snprintf(message, size,
           "'%s' has no kernels for a device of compute capability %d.%d: pack it with another "
           "--chips, or with PTX (--ptxas=none)",
           bundle->path, capability / 10, capability % 10);
  return NULL;
}

/* A bundle may come from anyone: it names files of its folder alone. */
static int check_name(const Bundle *bundle, const Image *image, const char *what, char *message,
                      size_t size) {
  if (*image->file && !strchr(image->file, '/'))
    return 0;
  snprintf(message, size, "'%s' names '%s' as %s; expected a file of '%s', without '/'",
           bundle->path, image->file, what, bundle->folder);
  return 1;
}

char *bundle_load(const Bundle *bundle, const Image *image, char *message, size_t size) {
  char path[4096];
  size_t bytes = 0;
  if (check_name(bundle, image, "an image of kernels", message, size))
    return NULL;
  snprintf(path, sizeof path, "%s/%s", bundle->folder, image->file);
  char *contents = read_file(path, &bytes, message, size);
  if (!contents)
    return NULL;
  if ((int64_t)bytes == image->bytes && llmmem_content_hash(contents, bytes) == image->hash)
    return contents;
  snprintf(message, size, "'%s' has %zu bytes and is damaged; '%s' was written with %lld of them",
           path, bytes, bundle->path, (long long)image->bytes);
  free(contents);
  return NULL;
}

static int runs_here(const char *processor) {
#if defined(__x86_64__)
  return strcmp(processor, "x86-64-v3") == 0 && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2");
#else
  return strcmp(processor, "generic") == 0;
#endif
}

static int write_all(int file, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t wrote = write(file, bytes, count);
    if (wrote < 0 && errno != EINTR)
      return 1;
    bytes += wrote > 0 ? wrote : 0;
    count -= wrote > 0 ? (size_t)wrote : 0;
  }
  return 0;
}

/* Opens a library of these bytes, which cannot change between their check and here: they are in
 * a file of this process alone, which is closed for writing. */
static void *open_bytes(const char *bytes, size_t count) {
  int file = memfd_create("llmmem-host-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0)
    return NULL;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int failed = write_all(file, bytes, count) ||
               fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0;
  void *library = failed ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  close(file);
  return library;
}

void *bundle_open_host_code(const Bundle *bundle, const Program *program, char *message,
                            size_t size) {
  Image image = read_image(program->host_code);
  const char *processor = json_text(program->host_code, "processor", "");
  if (check_name(bundle, &image, "the code of the host", message, size))
    return NULL;
  if (!runs_here(processor)) {
    snprintf(message, size,
             "'%s' has updates on the host for the processor '%s', which is not this", bundle->path,
             processor);
    return NULL;
  }
  char *contents = bundle_load(bundle, &image, message, size);
  if (!contents)
    return NULL;
  void *library = open_bytes(contents, (size_t)image.bytes);
  if (!library) {
    const char *why = dlerror();
    snprintf(message, size,
             "'%s/%s' cannot be opened from memory, which needs memfd_create and /proc: %s",
             bundle->folder, image.file, why ? why : strerror(errno));
  }
  free(contents);
  return library;
}

/* Checks that an image is whole, and adds its bytes and its file to the sums. */
static int check_image(const Bundle *bundle, const Json *json, int64_t *bytes, size_t *files,
                       char *message, size_t size) {
  Image image = read_image(json);
  char *contents = bundle_load(bundle, &image, message, size);
  if (!contents)
    return 1;
  free(contents);
  *bytes += image.bytes;
  ++*files;
  return 0;
}

int bundle_check(const Bundle *bundle, int64_t *bytes, size_t *files, char *message, size_t size) {
  *bytes = 0;
  *files = 0;
  for (size_t p = 0; p < bundle->program_count; ++p) {
    const Program *program = &bundle->programs[p];
    for (size_t m = 0; m < program->modules.count; ++m) {
      JsonItems images = json_items(json_find(&program->modules.items[m], "images"));
      for (size_t k = 0; k < images.count; ++k)
        if (check_image(bundle, &images.items[k], bytes, files, message, size))
          return 1;
    }
    if (program->host_code && check_image(bundle, program->host_code, bytes, files, message, size))
      return 1;
  }
  return 0;
}
