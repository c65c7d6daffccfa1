/*===- Bundle.h - A step that was compiled elsewhere ------------------------===*\
|*
|* What llmmem-bundle has written (docs/Design/Gpu.md, "A bundle"): buffers and how they are filled,
|* kernels, and all calls of a step, once by generated kernels and once with a library's products.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_BUNDLE_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_BUNDLE_H

#include "Bundle/Json.h"
#include "llmmem/Runtime/CudaProducts.h"
#include "llmmem/Runtime/TensorMaps.h"
#include <stddef.h>
#include <stdint.h>

enum { BUNDLE_VERSION = 1, MOST_ARGUMENTS = 512 /* of a launch, as Cuda.c takes */ };

typedef enum { TYPE_F32, TYPE_BF16, TYPE_F64, TYPE_I8, TYPE_I32, TYPE_I64, TYPES } ElementType;

/* What a buffer holds before the first step, or before each one. */
typedef enum {
  MAKE_NUMBER,  /* `value` in each element */
  MAKE_NORMAL,  /* `value` times numbers of the normal distribution, by stream and element */
  MAKE_IDS,     /* of tokens, each step those of the next batch */
  MAKE_TARGETS, /* what each of these tokens is followed by in its row; -100 at its end */
  MAKE_RATE,    /* the learning rate */
  MAKE_STEP,    /* the number of the step, from 1 */
  MAKE_SEED,    /* 64 bits of the step */
  MAKE_CLEARED, /* zeros before each step */
  MAKE_RESULT,  /* nothing: the step writes it */
  MAKES
} Make;

typedef struct {
  const char *name, *role;
  ElementType type;
  Make make;
  int64_t elements, bytes, columns; /* columns: of the last dimension */
  uint64_t stream;                  /* of the name, without the seed */
  double value;
  int64_t offset; /* from the begin of what lives for the whole step; on the host: of no meaning */
  int on_host;
} Buffer;

/* A byte of a buffer, or a number. */
enum { OF_NUMBER = -3, OF_HOST_ARENA = -2, OF_ARENA = -1 };
typedef struct {
  int64_t buffer, value;
} Word;

typedef enum {
  CALL_LAUNCH,
  CALL_MULTIPLY,
  CALL_COPY,
  CALL_HOST_COPY,
  CALL_START_HOST_COPY,
  CALL_WAIT_FOR_HOST_COPY,
  CALL_MARK,
  CALL_UPDATE,
  CALL_START_UPDATE,
  CALL_WAIT_FOR_UPDATE
} CallKind;

typedef struct {
  CallKind kind;
  int64_t number; /* of the kernel, form, mark, function of the host; the direction of a copy */
  int64_t grid[3], block[3], bytes; /* shared bytes of a launch */
  Word *words; /* arguments; of a product a, b, initial, c, bias, aux, workspace; to and from */
  size_t count;
  llmmem_tensor_map *maps; /* of a launch */
  size_t map_count;
} Call;

typedef struct {
  llmmem_product_form form;
  double alpha;
} Form;

typedef struct {
  const char *chip, *file;
  int64_t bytes;
  uint64_t hash;
} Image;

typedef struct {
  size_t module;
  const char *name;
} Kernel;

/* What a profile says about one call of the step. */
typedef struct {
  const char *kind, *name, *phase, *key;
  int64_t block, flops, bytes;
  int recomputed;
  Word *places; /* its operands, then its results, then its workspace */
  size_t place_count;
  const Json *attention; /* its shape; null for what is none */
} Timed;

typedef struct {
  const char *products; /* "generated" or "library" */
  JsonItems modules;    /* lists of images */
  Kernel *kernels;
  Call *calls;
  Form *forms;
  Timed *timed;
  size_t kernel_count, call_count, form_count, timed_count;
  const Json *host_code; /* the library with the functions of updates on the host; null: none */
  JsonItems functions;   /* their names */
} Program;

/* Many fields: each is a key of the file. */
typedef struct {
  Json *json; /* owns every text */
  char *path, *folder;
  int64_t arena, host_arena, resident, vocabulary;
  Buffer *buffers;
  size_t buffer_count;
  int64_t loss; /* the number of its buffer */
  Program programs[4];
  size_t program_count;
  const Json *predicted; /* of the memory report; null: there is none */
} Bundle;

/* Reads a bundle. Returns null where `path` is no bundle of this version, or not whole, with the
 * reason in `message`. */
Bundle *bundle_read(const char *path, char *message, size_t size);
void bundle_close(Bundle *bundle);
/* Returns the program for these products with the latest kernels that a device of this capability
 * (90 is 9.0) runs; where it runs none, any one of them. Null where there is none for these
 * products. */
const Program *bundle_program(const Bundle *bundle, const char *products, int capability);
/* Returns what a device of this capability runs of a module, or null, with the reason in
 * `message`. */
const Image *bundle_image(const Bundle *bundle, const Program *program, size_t module,
                          int capability, Image *found, char *message, size_t size);
/* Returns the contents of an image's file, with a zero after them; checked by its size and hash,
 * and to be in the folder of kernels itself. */
char *bundle_load(const Bundle *bundle, const Image *image, char *message, size_t size);
/* Returns the library of the program's updates on the host, opened by dlopen after a check of its
 * size and hash, and that this processor runs it: what is opened are the bytes that were checked,
 * whatever becomes of their file meanwhile. Null with the reason in `message`. */
void *bundle_open_host_code(const Bundle *bundle, const Program *program, char *message,
                            size_t size);
/* Checks that every image is there and whole. */
int bundle_check(const Bundle *bundle, int64_t *bytes, size_t *files, char *message, size_t size);

int64_t bytes_of_type(ElementType type);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_BUNDLE_H */
