/*===- ProductStore.c - Algorithms of matmuls, kept for all runs ------------===*/

#define _DEFAULT_SOURCE /* flock */
#include "llmmem/Runtime/ProductStore.h"
#include "llmmem/Runtime/WholeFile.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each product is compared with all others: a step has hundreds of forms. */
enum {
  STORE_VERSION = 2,
  FORM_WORDS = 27,
  DATA_WORDS = 8,
  MOST_LINE = 2048,
  MOST_PRODUCTS = 10000
};

_Static_assert(sizeof(llmmem_product_form) == FORM_WORDS * sizeof(int64_t),
               "a file has the words of a form");

static int fail(char *message, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, size, format, arguments);
  va_end(arguments);
  return 1;
}

int llmmem_product_store_path(const char *folder, const char *device, int64_t version, char *path,
                              size_t path_size, char *message, size_t size) {
  if (mkdir(folder, 0777) && errno != EEXIST)
    return fail(message, size, "the folder '%s' cannot be made: %s", folder, strerror(errno));
  long long number = version;
  int length = snprintf(path, path_size, "%s/%s.cublasLt-%lld.%lld.%lld.algorithms", folder, device,
                        number / 10000, number / 100 % 100, number % 100);
  if (length < 0 || (size_t)length >= path_size)
    return fail(message, size, "the folder's name '%s' is too long", folder);
  for (char *at = path + strlen(folder) + 1; *at; ++at)
    if (!isalnum((unsigned char)*at) && *at != '.' && *at != '-')
      *at = '-';
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Reading
\*===----------------------------------------------------------------------===*/

typedef struct {
  const char *path;
  char line[MOST_LINE];
  int number;
  FILE *file;
  llmmem_product_algorithm *read;
  size_t count;
  char *message;
  size_t size;
} Reader;

static int refuse(Reader *reader, const char *what) {
  return fail(reader->message, reader->size,
              "'%s', line %d: %s; delete the file to have all algorithms chosen anew", reader->path,
              reader->number, what);
}

static int next_line(Reader *reader) {
  ++reader->number;
  if (!fgets(reader->line, sizeof reader->line, reader->file))
    return refuse(reader, "the file is cut off before its end");
  char *end = strchr(reader->line, '\n');
  if (!end)
    return refuse(reader, "the line is too long, or cut off");
  *end = 0;
  return 0;
}

/* Reads the number after the blanks at `*at`, where nothing else stands. */
static int read_word(const char **at, int base, uint64_t *word) {
  char *end = NULL;
  errno = 0;
  while (**at == ' ')
    ++*at;
  if (!isxdigit((unsigned char)**at))
    return 1;
  *word = strtoull(*at, &end, base);
  int failed = errno || end == *at || (*end && *end != ' ');
  *at = end;
  return failed;
}

static int skip(const char **at, const char *text) {
  size_t length = strlen(text);
  if (strncmp(*at, text, length) != 0)
    return 1;
  *at += length;
  return 0;
}

static int read_product(const char *at, llmmem_product_algorithm *algorithm) {
  uint64_t form[FORM_WORDS], ns = 0;
  memset(algorithm, 0, sizeof *algorithm);
  if (skip(&at, "product"))
    return 1;
  for (int k = 0; k < FORM_WORDS; ++k)
    if (read_word(&at, 10, &form[k]))
      return 1;
  if (skip(&at, " ns") || read_word(&at, 10, &ns) || skip(&at, " data"))
    return 1;
  for (int k = 0; k < DATA_WORDS; ++k)
    if (read_word(&at, 16, &algorithm->data[k]))
      return 1;
  memcpy(&algorithm->form, form, sizeof form);
  algorithm->ns = (int64_t)ns;
  algorithm->is_given = 1;
  return *at != 0;
}

/* Reads whose algorithms these are. */
static int read_head(Reader *reader, const char *device, int64_t version) {
  char expected[256], its_device[256];
  snprintf(expected, sizeof expected, "llmmem-product-algorithms %d", STORE_VERSION);
  if (next_line(reader))
    return 1;
  if (strcmp(reader->line, expected) != 0)
    return refuse(reader, "this is not a file of product algorithms, version 2");
  if (next_line(reader))
    return 1;
  if (strncmp(reader->line, "device ", 7) != 0)
    return refuse(reader, "expected the device");
  snprintf(its_device, sizeof its_device, "%s", reader->line + 7);
  if (next_line(reader))
    return 1;
  const char *at = reader->line;
  uint64_t its_version = 0;
  if (skip(&at, "library") || read_word(&at, 10, &its_version) || *at)
    return refuse(reader, "expected the library's version");
  if (its_version == (uint64_t)version && strcmp(its_device, device) == 0)
    return 0;
  return fail(reader->message, reader->size,
              "'%s' has algorithms of cuBLASLt %" PRIu64 " on '%s', and this is cuBLASLt %" PRId64
              " on '%s'; delete it, or name another folder",
              reader->path, its_version, its_device, version, device);
}

static int read_products(Reader *reader) {
  for (;;) {
    if (next_line(reader))
      return 1;
    const char *at = reader->line;
    uint64_t count = 0;
    if (skip(&at, "end") == 0)
      return read_word(&at, 10, &count) || *at || count != reader->count
                 ? refuse(reader, "there are not as many products as its end says")
                 : 0;
    if (reader->count == MOST_PRODUCTS)
      return refuse(reader, "there are more products than a device has");
    llmmem_product_algorithm *larger = realloc(reader->read, (reader->count + 1) * sizeof *larger);
    if (!larger)
      return refuse(reader, "there is not enough memory on the host");
    reader->read = larger;
    if (read_product(reader->line, &larger[reader->count]))
      return refuse(reader, "expected a product of 27 words, its time and 8 words of an algorithm");
    ++reader->count;
  }
}

static int give_products(Reader *reader, llmmem_products *products) {
  for (size_t k = 0; k < reader->count; ++k)
    if (!llmmem_products_find(products, &reader->read[k].form) &&
        llmmem_products_give(products, &reader->read[k]))
      return fail(reader->message, reader->size, "%s", llmmem_products_message(products));
  return 0;
}

/* Returns null with errno. A path that is no file, such as a FIFO, would block a plain fopen for
 * ever. */
static FILE *open_file(const char *path) {
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0)
    return NULL;
  int why = fstat(descriptor, &status) != 0 ? errno
            : S_ISDIR(status.st_mode)       ? EISDIR
            : !S_ISREG(status.st_mode)      ? EINVAL
                                            : 0;
  FILE *file = why ? NULL : fdopen(descriptor, "r");
  if (file)
    return file;
  why = why ? why : errno;
  close(descriptor);
  errno = why;
  return NULL;
}

int llmmem_product_store_read(const char *path, const char *device, llmmem_products *products,
                              char *message, size_t size) {
  Reader reader = {.path = path, .message = message, .size = size};
  reader.file = open_file(path);
  if (!reader.file)
    return errno == ENOENT ? 0
                           : fail(message, size, "'%s' cannot be read: %s", path, strerror(errno));
  int failed = read_head(&reader, device, llmmem_products_version(products)) ||
               read_products(&reader) || give_products(&reader, products);
  fclose(reader.file);
  free(reader.read);
  return failed;
}

/*===----------------------------------------------------------------------===*\
|* Writing
\*===----------------------------------------------------------------------===*/

static void write_product(FILE *file, const llmmem_product_algorithm *algorithm) {
  int64_t words[FORM_WORDS];
  memcpy(words, &algorithm->form, sizeof words);
  fputs("product", file);
  for (int k = 0; k < FORM_WORDS; ++k)
    fprintf(file, " %" PRId64, words[k]);
  fprintf(file, " ns %" PRId64 " data", algorithm->ns);
  for (int k = 0; k < DATA_WORDS; ++k)
    fprintf(file, " %016" PRIx64, algorithm->data[k]);
  fputc('\n', file);
}

int llmmem_product_store_write(const char *path, const char *device,
                               const llmmem_products *products, char *message, size_t size) {
  llmmem_whole_file whole;
  int why = llmmem_whole_file_open(&whole, path);
  if (why == ENAMETOOLONG)
    return fail(message, size, "the name '%s' is too long", path);
  if (why)
    return fail(message, size, "'%s' cannot be written: %s", whole.temporary, strerror(why));
  FILE *file = whole.file;
  size_t count = llmmem_products_count(products);
  fprintf(file, "llmmem-product-algorithms %d\ndevice %s\nlibrary %" PRId64 "\n", STORE_VERSION,
          device, llmmem_products_version(products));
  for (size_t k = 0; k < count; ++k)
    write_product(file, llmmem_products_algorithm(products, k));
  fprintf(file, "end %zu\n", count);
  why = llmmem_whole_file_keep(&whole);
  return why == 0 ? 0 : fail(message, size, "'%s' cannot be written: %s", path, strerror(why));
}

/*===----------------------------------------------------------------------===*\
|* The lock
\*===----------------------------------------------------------------------===*/

/* The lock is a file of its own, because another file replaces the store. The system releases it
 * when a process ends, however it ends. */
int llmmem_product_store_lock(const char *path, char *message, size_t size) {
  char lock_path[4096];
  if (snprintf(lock_path, sizeof lock_path, "%s.lock", path) >= (int)sizeof lock_path) {
    fail(message, size, "the name '%s' is too long", path);
    return -1;
  }
  int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock >= 0 && flock(lock, LOCK_EX) == 0)
    return lock;
  fail(message, size, "'%s' cannot be locked: %s", lock_path, strerror(errno));
  if (lock >= 0)
    close(lock);
  return -1;
}

void llmmem_product_store_unlock(int lock) { close(lock); }
