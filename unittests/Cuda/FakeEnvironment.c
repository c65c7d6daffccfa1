/*===- FakeEnvironment.c - What the environment asks of the fakes -------------===*/

#include "FakeDriver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t llmmem_fake_cuda_ns(const char *kernel) {
  const char *rule = getenv("LLMMEM_FAKE_CUDA_NS");
  while (rule && *rule) {
    const char *sign = strchr(rule, '=');
    char part[256];
    if (!sign || (size_t)(sign - rule) >= sizeof part)
      break;
    snprintf(part, sizeof part, "%.*s", (int)(sign - rule), rule);
    if (strstr(kernel, part))
      return strtoll(sign + 1, NULL, 10);
    rule = strchr(sign, ',');
    rule = rule ? rule + 1 : NULL;
  }
  return 1000;
}

/* FNV-1a of 64 bits. */
const char *llmmem_fake_cuda_contents(const void *bytes, size_t size) {
  static char text[64];
  uint64_t hash = 0xcbf29ce484222325;
  if (!getenv("LLMMEM_FAKE_CUDA_CONTENTS"))
    return "";
  for (size_t k = 0; k < size; ++k)
    hash = (hash ^ ((const unsigned char *)bytes)[k]) * 0x100000001b3;
  snprintf(text, sizeof text, " contents %016llx", (unsigned long long)hash);
  return text;
}

int llmmem_fake_cuda_must_fail(const char *variable, const char *name, int *calls) {
  const char *wanted = getenv(variable);
  size_t length = strlen(name);
  if (!wanted || strncmp(wanted, name, length) != 0 || wanted[length] != ':' ||
      ++*calls != strtol(wanted + length + 1, NULL, 10))
    return 0;
  llmmem_fake_cuda_note("%s fails", name);
  return 1;
}
