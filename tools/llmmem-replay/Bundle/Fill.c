/*===- Fill.c - What the buffers of a step hold -----------------------------===*/

#include "Bundle/Fill.h"
#include "Bundle/ReadFile.h"
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Runtime/Samples.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*===----------------------------------------------------------------------===*\
|* Numbers
\*===----------------------------------------------------------------------===*/

/* Rounds to nearest, ties to even; NaN stays NaN. */
static uint16_t round_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (isnan(value))
    return (uint16_t)((bits >> 16) | 0x40);
  return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

static void write_number(ElementType type, void *to, int64_t index, double value) {
  switch (type) {
  case TYPE_F64:
    ((double *)to)[index] = value;
    break;
  case TYPE_F32:
    ((float *)to)[index] = (float)value;
    break;
  case TYPE_BF16:
    ((uint16_t *)to)[index] = round_to_bf16((float)value);
    break;
  case TYPE_I8:
    ((int8_t *)to)[index] = (int8_t)value;
    break;
  case TYPE_I32:
    ((int32_t *)to)[index] = (int32_t)value;
    break;
  case TYPE_I64:
  case TYPES:
    ((int64_t *)to)[index] = (int64_t)value;
    break;
  }
}

double read_number(ElementType type, const void *bytes) {
  if (type == TYPE_F64)
    return *(const double *)bytes;
  if (type == TYPE_F32)
    return *(const float *)bytes;
  uint32_t bits = (uint32_t)*(const uint16_t *)bytes << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void fill_elements(const Buffer *buffer, uint64_t seed, int64_t first, int64_t count, void *to) {
  uint64_t stream = llmmem_sample_stream(seed) ^ buffer->stream;
  for (int64_t k = 0; k < count; ++k) {
    double value = buffer->value;
    /* It is rounded to f32 first, so that a parameter and its copy in f32 begin alike. */
    if (buffer->make == MAKE_NORMAL)
      value = (float)(value * llmmem_sample_normal(stream, (uint64_t)(first + k)));
    write_number(buffer->type, to, k, value);
  }
}

/*===----------------------------------------------------------------------===*\
|* At first
\*===----------------------------------------------------------------------===*/

enum { PIECE = 1 << 14, PIECES = 1 << 9 };

typedef struct {
  const Buffer *buffer;
  uint64_t seed;
  int64_t first, count;
  char *to;
} Filling;

static void fill_pieces(void *context, int64_t begin, int64_t end) {
  const Filling *filling = context;
  int64_t width = bytes_of_type(filling->buffer->type);
  for (int64_t k = begin; k < end; ++k) {
    int64_t first = k * PIECE, left = filling->count - first;
    fill_elements(filling->buffer, filling->seed, filling->first + first,
                  left < PIECE ? left : PIECE, filling->to + first * width);
  }
}

static void fill(const Buffer *buffer, uint64_t seed, int64_t first, int64_t count, char *to) {
  Filling filling = {buffer, seed, first, count, to};
  llmmem_parallel_for((count + PIECE - 1) / PIECE, fill_pieces, &filling);
}

void fill_all(const Buffer *buffer, uint64_t seed, int64_t count, void *to) {
  fill(buffer, seed, 0, count, to);
}

static int is_made_at_first(const Buffer *buffer) {
  return buffer->make == MAKE_NORMAL || (buffer->make == MAKE_NUMBER && buffer->value != 0);
}

/* Copies by way of one staging buffer: a model of 8 billion parameters does not fit twice. */
int fill_at_first(llmmem_cuda *run, const Bundle *bundle, uint64_t seed, void *const *host) {
  const int64_t most = (int64_t)PIECE * PIECES;
  char *staging = malloc((size_t)most * sizeof(double));
  int failed = !staging;
  for (size_t k = 0; k < bundle->buffer_count && !failed; ++k) {
    const Buffer *buffer = &bundle->buffers[k];
    if (!is_made_at_first(buffer))
      continue; /* memory of the device is zero at first */
    if (buffer->on_host) {
      fill(buffer, seed, 0, buffer->elements, host[k]);
      continue;
    }
    int64_t width = bytes_of_type(buffer->type);
    for (int64_t first = 0; first < buffer->elements && !failed; first += most) {
      int64_t left = buffer->elements - first, count = left < most ? left : most;
      fill(buffer, seed, first, count, staging);
      failed = llmmem_cuda_upload(
          run, llmmem_cuda_resident(run) + (uint64_t)(buffer->offset + first * width), staging,
          count * width);
    }
  }
  free(staging);
  return failed;
}

/*===----------------------------------------------------------------------===*\
|* Tokens
\*===----------------------------------------------------------------------===*/

static const char white[] = " \t\n\v\f\r";

static size_t count_words(const char *text) {
  size_t count = 0;
  for (text += strspn(text, white); *text; text += strspn(text, white)) {
    text += strcspn(text, white);
    ++count;
  }
  return count;
}

/* `text` ends with a zero at `end`; another one before is no number. */
static int read_ids(Tokens *tokens, const char *path, const char *text, const char *end,
                    int64_t vocabulary, char *message, size_t size) {
  enum { MOST_QUOTED = 40 };
  for (const char *at = text;;) {
    char *rest;
    at += strspn(at, white);
    if (at == end)
      return 0;
    long long id = strtoll(at, &rest, 10);
    if (rest == at || id < 0 || id >= vocabulary) {
      size_t length = strcspn(at, white);
      snprintf(message, size, "'%s': id %zu, '%.*s', is outside the vocabulary of %lld", path,
               tokens->count + 1, (int)(length < MOST_QUOTED ? length : MOST_QUOTED), at,
               (long long)vocabulary);
      return 1;
    }
    tokens->ids[tokens->count++] = (int32_t)id;
    at = rest;
  }
}

/* The bytes stay as they are, as a text may be large. */
static void take_text(Tokens *tokens, char *text, size_t bytes, int64_t vocabulary) {
  tokens->text = text;
  tokens->count = bytes;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    /* Fibonacci hashing separates neighbouring letters. */
    uint32_t hash = (byte * 2654435769u) >> 8;
    tokens->id_of_byte[byte] =
        vocabulary >= 256 ? (int32_t)byte : (int32_t)(hash % (uint32_t)vocabulary);
  }
}

int tokens_read(Tokens *tokens, const char *path, int is_text, int64_t vocabulary, char *message,
                size_t size) {
  size_t bytes = 0;
  char *text = read_file(path, &bytes, message, size);
  memset(tokens, 0, sizeof *tokens);
  if (!text)
    return 1;
  if (is_text) {
    take_text(tokens, text, bytes, vocabulary);
    return 0;
  }
  tokens->ids = malloc((count_words(text) + 1) * sizeof *tokens->ids);
  if (!tokens->ids)
    snprintf(message, size, "'%s' cannot be read: not enough memory", path);
  int failed =
      !tokens->ids || read_ids(tokens, path, text, text + bytes, vocabulary, message, size);
  free(text);
  return failed;
}

void tokens_free(Tokens *tokens) {
  free(tokens->ids);
  free(tokens->text);
}

static int32_t id_at(const Tokens *tokens, size_t place) {
  return tokens->ids ? tokens->ids[place] : tokens->id_of_byte[(unsigned char)tokens->text[place]];
}

/* Returns where a row of the text begins. Reduces the factors first, so that their product does not
 * overflow. */
static size_t begin_of_row(const Tokens *tokens, uint64_t row, uint64_t columns) {
  uint64_t length = tokens->count;
  return (size_t)((row % length) * (columns % length) % length);
}

static void next_tokens(const Tokens *tokens, const Buffer *buffer, int64_t number, int32_t *to) {
  int64_t rows = buffer->elements / buffer->columns, targets = buffer->make == MAKE_TARGETS;
  for (int64_t row = 0; row < rows; ++row) {
    size_t begin = begin_of_row(tokens, (uint64_t)(number * rows + row), (uint64_t)buffer->columns);
    for (int64_t column = 0; column < buffer->columns; ++column) {
      int is_last = targets && column + 1 == buffer->columns;
      size_t at = (begin + (size_t)(column + targets)) % tokens->count;
      to[row * buffer->columns + column] = is_last ? -100 : id_at(tokens, at);
    }
  }
}

/*===----------------------------------------------------------------------===*\
|* Before a step
\*===----------------------------------------------------------------------===*/

/* The place of a buffer. */
typedef struct {
  llmmem_cuda *run;
  uint64_t address; /* on the device */
  void *host;       /* null: on the device */
} Target;

static int write_bytes(const Target *target, const void *bytes, int64_t count) {
  if (!target->host)
    return llmmem_cuda_upload(target->run, target->address, bytes, count);
  memcpy(target->host, bytes, (size_t)count);
  return 0;
}

static int write_tokens(const Buffer *buffer, const StepInputs *inputs, const Target *target) {
  int32_t *ids = malloc((size_t)buffer->bytes + 1);
  if (!ids)
    return 1;
  next_tokens(inputs->tokens, buffer, inputs->number, ids);
  int failed = write_bytes(target, ids, buffer->bytes);
  free(ids);
  return failed;
}

static int write_word(const Buffer *buffer, double value, const Target *target) {
  uint64_t word = 0;
  write_number(buffer->type, &word, 0, value);
  return write_bytes(target, &word, buffer->bytes);
}

static int write_input(const Buffer *buffer, const StepInputs *inputs, const Target *target) {
  switch (buffer->make) {
  case MAKE_IDS:
  case MAKE_TARGETS:
    return write_tokens(buffer, inputs, target);
  case MAKE_RATE:
    return write_word(buffer, inputs->rate, target);
  case MAKE_STEP:
    return write_word(buffer, (double)(inputs->number + 1), target);
  case MAKE_SEED: {
    uint64_t word =
        llmmem_sample_word(llmmem_sample_stream(inputs->seed), (uint64_t)inputs->number);
    return write_bytes(target, &word, buffer->bytes);
  }
  case MAKE_CLEARED:
    if (!target->host)
      return llmmem_cuda_fill(target->run, target->address, 0, buffer->bytes);
    memset(target->host, 0, (size_t)buffer->bytes);
    return 0;
  case MAKE_NUMBER:
  case MAKE_NORMAL:
  case MAKE_RESULT:
  case MAKES:
    break;
  }
  return 0;
}

int fill_before_step(llmmem_cuda *run, const Bundle *bundle, const StepInputs *inputs,
                     void *const *host) {
  for (size_t k = 0; k < bundle->buffer_count; ++k) {
    const Buffer *buffer = &bundle->buffers[k];
    Target target = {run, llmmem_cuda_resident(run) + (uint64_t)buffer->offset, host[k]};
    if (write_input(buffer, inputs, &target))
      return 1;
  }
  return 0;
}
