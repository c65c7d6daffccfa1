/*===- Bundle.c - A step that was compiled elsewhere ------------------------===*/

#define _POSIX_C_SOURCE 200809L /* strdup */
#include "Bundle/Bundle.h"
#include "Bundle/ReadFile.h"
#include "llmmem/Alignment.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *message;
  size_t size;
} Failure;

static int fail(Failure *failure, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure->message, failure->size, format, arguments);
  va_end(arguments);
  return 1;
}

/* Allocates one more than asked for, since nothing has 0 bytes. */
static void *allocate(Failure *failure, size_t count, size_t size) {
  void *made = calloc(count + 1, size);
  if (!made)
    fail(failure, "not enough memory on the host");
  return made;
}

static int number_of(const char *text, const char *const *names, size_t count) {
  for (size_t k = 0; k < count; ++k)
    if (strcmp(text, names[k]) == 0)
      return (int)k;
  return -1;
}

/*===----------------------------------------------------------------------===*\
|* Buffers
\*===----------------------------------------------------------------------===*/

int64_t bytes_of_type(ElementType type) {
  static const int64_t bytes[TYPES] = {4, 2, 8, 1, 4, 8};
  return bytes[type];
}

static int read_buffer(const Json *json, Buffer *buffer, Failure *failure) {
  static const char *const types[TYPES] = {"f32", "bf16", "f64", "i8", "i32", "i64"};
  static const char *const makes[MAKES] = {
      "number", "normal", "ids", "targets", "learning_rate", "step", "seed", "cleared", "result"};
  const Json *make = json_find(json, "make");
  buffer->name = json_text(json, "name", "");
  buffer->role = json_text(json, "role", "");
  int type = number_of(json_text(json, "type", ""), types, TYPES);
  int kind = number_of(json_text(make, "kind", ""), makes, MAKES);
  buffer->elements = json_integer(json, "elements", -1);
  buffer->columns = json_integer(json, "columns", 1);
  buffer->on_host = json_integer(json, "on_host", 0) != 0;
  buffer->value = json_number(make, "value", 0);
  buffer->stream = strtoull(json_text(make, "stream", "0"), NULL, 16);
  if (type < 0 || kind < 0)
    return fail(failure,
                "buffer '%s' has the type '%s' and is made by '%s', of which one is unknown",
                buffer->name, json_text(json, "type", ""), json_text(make, "kind", ""));
  buffer->type = (ElementType)type;
  buffer->make = (Make)kind;
  if (buffer->elements < 0 || buffer->columns < 1 || buffer->elements > INT64_MAX / 16)
    return fail(failure, "buffer '%s' has no number of elements", buffer->name);
  buffer->bytes = buffer->elements * bytes_of_type(buffer->type);
  int is_word = kind == MAKE_RATE || kind == MAKE_STEP || kind == MAKE_SEED;
  int is_tokens = kind == MAKE_IDS || kind == MAKE_TARGETS;
  if ((is_word && buffer->bytes > (int64_t)sizeof(uint64_t)) ||
      (is_tokens && (type != TYPE_I32 || buffer->elements % buffer->columns != 0)))
    return fail(failure, "buffer '%s' has another type than what it is made of", buffer->name);
  return 0;
}

static int64_t aligned(int64_t bytes) {
  return (bytes + LLMMEM_ARENA_ALIGNMENT - 1) / LLMMEM_ARENA_ALIGNMENT * LLMMEM_ARENA_ALIGNMENT;
}

static int read_buffers(Bundle *bundle, Failure *failure) {
  JsonItems items = json_items(json_find(bundle->json, "buffers"));
  bundle->buffers = allocate(failure, items.count, sizeof *bundle->buffers);
  if (!bundle->buffers)
    return 1;
  bundle->buffer_count = items.count;
  for (size_t k = 0; k < items.count; ++k) {
    Buffer *buffer = &bundle->buffers[k];
    if (read_buffer(&items.items[k], buffer, failure))
      return 1;
    if (buffer->on_host)
      continue;
    buffer->offset = bundle->resident;
    if (__builtin_add_overflow(bundle->resident, aligned(buffer->bytes), &bundle->resident))
      return fail(failure, "its buffers have more than 2^63 bytes together, with buffer '%s'",
                  buffer->name);
  }
  if (bundle->loss < 0 || (size_t)bundle->loss >= items.count)
    return fail(failure, "it does not say which buffer is the loss");
  const Buffer *loss = &bundle->buffers[bundle->loss];
  if (loss->elements != 1 || loss->on_host || loss->type > TYPE_F64)
    return fail(failure, "its loss '%s' is no number on the device", loss->name);
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Calls
\*===----------------------------------------------------------------------===*/

/* [buffer, byte], a number, or null. */
static int read_word(const Bundle *bundle, const Json *json, Word *word, Failure *failure) {
  JsonItems pair = json_items(json);
  if (json->kind == JSON_INTEGER || json->kind == JSON_NULL) {
    *word = (Word){OF_NUMBER, json->kind == JSON_INTEGER ? json->as.integer : 0};
    return 0;
  }
  if (pair.count != 2 || pair.items[0].kind != JSON_INTEGER || pair.items[1].kind != JSON_INTEGER)
    return fail(failure, "a call's argument is neither a number nor [buffer, byte]");
  *word = (Word){pair.items[0].as.integer, pair.items[1].as.integer};
  int64_t size = word->buffer == OF_ARENA        ? bundle->arena
                 : word->buffer == OF_HOST_ARENA ? bundle->host_arena
                 : word->buffer >= 0 && (size_t)word->buffer < bundle->buffer_count
                     ? bundle->buffers[word->buffer].bytes
                     : -1;
  /* An offset just after the last byte is valid for what has no bytes, such as an empty workspace.
   */
  if (word->value < 0 || word->value > size)
    return fail(failure, "a call's argument is byte %lld of buffer %lld, which has none",
                (long long)word->value, (long long)word->buffer);
  return 0;
}

static int read_words(const Bundle *bundle, const Json *items, size_t count, Call *call,
                      Failure *failure) {
  call->words = allocate(failure, count, sizeof *call->words);
  if (!call->words)
    return 1;
  call->count = count;
  for (size_t k = 0; k < count; ++k)
    if (read_word(bundle, &items[k], &call->words[k], failure))
      return 1;
  return 0;
}

static int read_sizes(const Json *json, int64_t sizes[3]) {
  JsonItems items = json_items(json);
  for (size_t k = 0; k < 3 && items.count == 3; ++k) {
    sizes[k] = items.items[k].kind == JSON_INTEGER ? items.items[k].as.integer : 0;
    if (sizes[k] < 1)
      return 1;
  }
  return items.count != 3;
}

static int is_integer(const Json *json) { return json->kind == JSON_INTEGER; }

/* Each map is a list of the words of llmmem_tensor_map. */
static int read_maps(const Json *json, Call *call, Failure *failure) {
  JsonItems maps = json_items(json);
  call->maps = allocate(failure, maps.count, sizeof *call->maps);
  if (!call->maps)
    return 1;
  call->map_count = maps.count;
  for (size_t k = 0; k < maps.count; ++k) {
    JsonItems words = json_items(&maps.items[k]);
    int64_t numbers[LLMMEM_TENSOR_MAP_WORDS];
    for (size_t w = 0; w < words.count && w < LLMMEM_TENSOR_MAP_WORDS; ++w)
      numbers[w] = is_integer(&words.items[w]) ? words.items[w].as.integer : -1;
    if (words.count != LLMMEM_TENSOR_MAP_WORDS || numbers[0] < 0 ||
        (size_t)numbers[0] >= call->count || numbers[2] >= (int64_t)call->count)
      return fail(failure, "a tensor map of a launch does not say argument and sizes");
    memcpy(&call->maps[k], numbers, sizeof numbers);
  }
  return 0;
}

/* ["launch", kernel, [grid], [block], shared bytes, [arguments], [tensor maps], if any] */
static int read_launch(const Bundle *bundle, const Program *program, JsonItems items, Call *call,
                       Failure *failure) {
  if (items.count < 6 || items.count > 7 || !is_integer(&items.items[1]) ||
      read_sizes(&items.items[2], call->grid) || read_sizes(&items.items[3], call->block) ||
      !is_integer(&items.items[4]) || items.items[5].kind != JSON_LIST)
    return fail(failure, "a launch does not say kernel, grid, block, shared bytes and arguments");
  call->number = items.items[1].as.integer;
  call->bytes = items.items[4].as.integer;
  if (call->number < 0 || (size_t)call->number >= program->kernel_count)
    return fail(failure, "a launch names kernel %lld of %zu", (long long)call->number,
                program->kernel_count);
  JsonItems words = json_items(&items.items[5]);
  if (words.count > MOST_ARGUMENTS)
    return fail(failure, "a launch has %zu arguments, more than %d", words.count, MOST_ARGUMENTS);
  return read_words(bundle, words.items, words.count, call, failure) ||
         (items.count == 7 && read_maps(&items.items[6], call, failure));
}

/* ["multiply", form, a, b, initial, c, bias, aux, workspace] */
static int read_multiply(const Bundle *bundle, const Program *program, JsonItems items, Call *call,
                         Failure *failure) {
  if (items.count != 9 || !is_integer(&items.items[1]))
    return fail(failure, "a product does not say its form and seven places");
  call->number = items.items[1].as.integer;
  if (call->number < 0 || (size_t)call->number >= program->form_count)
    return fail(failure, "a product names form %lld of %zu", (long long)call->number,
                program->form_count);
  return read_words(bundle, &items.items[2], 7, call, failure);
}

/* ["copy", to, from, bytes]; copies of the host's have the direction after it. */
static int read_copy(const Bundle *bundle, JsonItems items, Call *call, Failure *failure) {
  size_t expected = call->kind == CALL_COPY ? 4 : 5;
  if (items.count != expected || !is_integer(&items.items[3]) ||
      !is_integer(&items.items[expected - 1]))
    return fail(failure, "a copy does not say to where, from where, and how many bytes");
  call->bytes = items.items[3].as.integer;
  call->number = items.items[expected - 1].as.integer;
  return read_words(bundle, &items.items[1], 2, call, failure);
}

/* ["update", function, [arguments]] */
static int read_update(const Bundle *bundle, const Program *program, JsonItems items, Call *call,
                       Failure *failure) {
  if (items.count != 3 || !is_integer(&items.items[1]) || items.items[2].kind != JSON_LIST)
    return fail(failure, "an update on the host does not say its function and arguments");
  call->number = items.items[1].as.integer;
  if (call->number < 0 || (size_t)call->number >= program->functions.count)
    return fail(failure, "an update names function %lld of %zu of the host",
                (long long)call->number, program->functions.count);
  JsonItems words = json_items(&items.items[2]);
  if (words.count > MOST_ARGUMENTS)
    return fail(failure, "an update has %zu arguments, more than %d", words.count, MOST_ARGUMENTS);
  return read_words(bundle, words.items, words.count, call, failure);
}

static int read_call(const Bundle *bundle, const Program *program, const Json *json, Call *call,
                     Failure *failure) {
  static const char *const names[] = {"launch",          "multiply",           "copy", "host_copy",
                                      "start_host_copy", "wait_for_host_copy", "mark", "update",
                                      "start_update",    "wait_for_update"};
  JsonItems items = json_items(json);
  int kind = items.count > 0 && items.items[0].kind == JSON_TEXT
                 ? number_of(items.items[0].as.text, names, sizeof names / sizeof *names)
                 : -1;
  if (kind < 0)
    return fail(failure, "a call is of no known kind");
  call->kind = (CallKind)kind;
  switch (call->kind) {
  case CALL_LAUNCH:
    return read_launch(bundle, program, items, call, failure);
  case CALL_MULTIPLY:
    return read_multiply(bundle, program, items, call, failure);
  case CALL_COPY:
  case CALL_HOST_COPY:
  case CALL_START_HOST_COPY:
    return read_copy(bundle, items, call, failure);
  case CALL_UPDATE:
  case CALL_START_UPDATE:
    return read_update(bundle, program, items, call, failure);
  case CALL_WAIT_FOR_HOST_COPY:
  case CALL_WAIT_FOR_UPDATE:
  case CALL_MARK:
    break;
  }
  if (items.count != 2 || !is_integer(&items.items[1]))
    return fail(failure, "a %s does not say its number", names[kind]);
  call->number = items.items[1].as.integer;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Programs
\*===----------------------------------------------------------------------===*/

static llmmem_matrix_form read_matrix(const Json *json) {
  return (llmmem_matrix_form){
      json_integer(json, "type", 0), json_integer(json, "pitch", 0),
      json_integer(json, "transposed", 0), json_integer(json, "stride", 0),
      /* An operand that is no matrix has no alignment: forms are compared byte by byte. */
      json_integer(json, "alignment", 0)};
}

static Form read_form(const Json *json) {
  Form form = {.alpha = json_number(json, "alpha", 1)};
  form.form.rows = json_integer(json, "rows", 0);
  form.form.columns = json_integer(json, "columns", 0);
  form.form.inner = json_integer(json, "inner", 0);
  form.form.batch = json_integer(json, "batch", 1);
  form.form.a = read_matrix(json_find(json, "a"));
  form.form.b = read_matrix(json_find(json, "b"));
  form.form.initial = read_matrix(json_find(json, "initial"));
  form.form.c = read_matrix(json_find(json, "c"));
  form.form.epilogue = json_integer(json, "epilogue", 0);
  form.form.aux_pitch = json_integer(json, "aux_pitch", 0);
  form.form.workspace_bytes = json_integer(json, "workspace_bytes", 0);
  return form;
}

static Timed read_timed(const Json *json) {
  return (Timed){.kind = json_text(json, "kind", ""),
                 .name = json_text(json, "name", ""),
                 .phase = json_text(json, "phase", ""),
                 .key = json_text(json, "key", ""),
                 .block = json_integer(json, "block", -1),
                 .flops = json_integer(json, "flops", 0),
                 .bytes = json_integer(json, "bytes", 0),
                 .recomputed = json_integer(json, "recomputed", 0) != 0,
                 .attention = json_find(json, "attention")};
}

static int read_places(const Bundle *bundle, const Json *json, Timed *timed, Failure *failure) {
  JsonItems places = json_items(json_find(json, "places"));
  timed->places = allocate(failure, places.count, sizeof *timed->places);
  if (!timed->places)
    return 1;
  for (; timed->place_count < places.count; ++timed->place_count)
    if (read_word(bundle, &places.items[timed->place_count], &timed->places[timed->place_count],
                  failure))
      return 1;
  return 0;
}

static int read_kernels(Program *program, const Json *json, Failure *failure) {
  program->modules = json_items(json_find(json, "modules"));
  JsonItems kernels = json_items(json_find(json, "kernels"));
  program->kernels = allocate(failure, kernels.count, sizeof *program->kernels);
  if (!program->kernels)
    return 1;
  program->kernel_count = kernels.count;
  for (size_t k = 0; k < kernels.count; ++k) {
    int64_t module = json_integer(&kernels.items[k], "module", -1);
    program->kernels[k].name = json_text(&kernels.items[k], "name", NULL);
    if (module < 0 || (size_t)module >= program->modules.count || !program->kernels[k].name)
      return fail(failure, "kernel %zu has no name, or is in no module", k);
    program->kernels[k].module = (size_t)module;
  }
  return 0;
}

static int read_program(const Bundle *bundle, const Json *json, Program *program,
                        Failure *failure) {
  program->products = json_text(json, "products", "");
  program->host_code = json_find(json, "host_code");
  program->functions = json_items(json_find(program->host_code, "functions"));
  if (read_kernels(program, json, failure))
    return 1;
  JsonItems forms = json_items(json_find(json, "forms")),
            timed = json_items(json_find(json, "timed")),
            calls = json_items(json_find(json, "calls"));
  program->forms = allocate(failure, forms.count, sizeof *program->forms);
  program->timed = allocate(failure, timed.count, sizeof *program->timed);
  program->calls = allocate(failure, calls.count, sizeof *program->calls);
  if (!program->forms || !program->timed || !program->calls)
    return 1;
  for (; program->form_count < forms.count; ++program->form_count)
    program->forms[program->form_count] = read_form(&forms.items[program->form_count]);
  for (; program->timed_count < timed.count; ++program->timed_count) {
    Timed *next = &program->timed[program->timed_count];
    *next = read_timed(&timed.items[program->timed_count]);
    if (read_places(bundle, &timed.items[program->timed_count], next, failure))
      return 1;
  }
  if (calls.count == 0)
    return fail(failure, "the program with products '%s' has no calls", program->products);
  for (; program->call_count < calls.count; ++program->call_count)
    if (read_call(bundle, program, &calls.items[program->call_count],
                  &program->calls[program->call_count], failure))
      return 1;
  return 0;
}

static int read_programs(Bundle *bundle, Failure *failure) {
  JsonItems programs = json_items(json_find(bundle->json, "programs"));
  size_t most = sizeof bundle->programs / sizeof *bundle->programs;
  if (programs.count < 1 || programs.count > most)
    return fail(failure, "it has %zu programs, expected 1 to %zu", programs.count, most);
  for (; bundle->program_count < programs.count; ++bundle->program_count)
    if (read_program(bundle, &programs.items[bundle->program_count],
                     &bundle->programs[bundle->program_count], failure))
      return 1;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Files
\*===----------------------------------------------------------------------===*/

static int check_format(const Bundle *bundle, Failure *failure) {
  int64_t version = json_integer(bundle->json, "version", -1);
  if (strcmp(json_text(bundle->json, "format", ""), "llmmem-bundle") != 0)
    return fail(failure, "it is no llmmem-bundle; expected a file that llmmem-bundle has written");
  if (version != BUNDLE_VERSION)
    return fail(failure, "it is an llmmem-bundle of version %lld, expected %d: pack it again",
                (long long)version, BUNDLE_VERSION);
  return 0;
}

/* Returns whether a name leads out of the folder that it is looked up in. */
static int leads_out(const char *name) {
  if (*name == '/')
    return 1;
  for (const char *part = name; part; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
      return 1;
  }
  return 0;
}

/* The folder of kernels is named as it lies to the file. */
static int find_folder(Bundle *bundle, Failure *failure) {
  const char *slash = strrchr(bundle->path, '/'),
             *kernels = json_text(bundle->json, "kernels", ".");
  if (leads_out(kernels))
    return fail(failure,
                "its kernels are in '%s', expected a folder next to the bundle, without '..' and "
                "without '/' in front",
                kernels);
  size_t length = slash ? (size_t)(slash - bundle->path) : 1, size = length + strlen(kernels) + 2;
  bundle->folder = allocate(failure, size, 1);
  if (!bundle->folder)
    return 1;
  snprintf(bundle->folder, size, "%.*s/%s", (int)length, slash ? bundle->path : ".", kernels);
  return 0;
}

static int read_all(Bundle *bundle, Failure *failure) {
  if (check_format(bundle, failure) || find_folder(bundle, failure))
    return 1;
  bundle->arena = json_integer(bundle->json, "arena", -1);
  bundle->host_arena = json_integer(bundle->json, "host_arena", 0);
  bundle->vocabulary = json_integer(bundle->json, "vocabulary", 0);
  bundle->loss = json_integer(bundle->json, "loss", -1);
  bundle->predicted = json_find(bundle->json, "predicted");
  if (bundle->arena < 0 || bundle->host_arena < 0 || bundle->vocabulary < 1)
    return fail(failure, "it does not say the bytes of its arena, or its vocabulary");
  return read_buffers(bundle, failure) || read_programs(bundle, failure);
}

Bundle *bundle_read(const char *path, char *message, size_t size) {
  size_t bytes = 0;
  char *text = read_file(path, &bytes, message, size), why[1024] = "";
  if (!text)
    return NULL;
  Failure failure = {why, sizeof why};
  Bundle *bundle = allocate(&failure, 1, sizeof *bundle);
  if (bundle) {
    bundle->path = strdup(path);
    bundle->json = json_parse(text, bytes, why, sizeof why);
  }
  free(text);
  if (bundle && bundle->path && bundle->json && !read_all(bundle, &failure))
    return bundle;
  snprintf(message, size, "'%s': %s", path, why);
  bundle_close(bundle);
  return NULL;
}

void bundle_close(Bundle *bundle) {
  if (!bundle)
    return;
  for (size_t p = 0; p < 2; ++p) {
    Program *program = &bundle->programs[p];
    for (size_t k = 0; program->calls && k < program->call_count + 1; ++k)
      free(program->calls[k].words), free(program->calls[k].maps);
    for (size_t k = 0; program->timed && k < program->timed_count + 1; ++k)
      free(program->timed[k].places);
    free(program->calls);
    free(program->kernels);
    free(program->forms);
    free(program->timed);
  }
  free(bundle->buffers);
  free(bundle->path);
  free(bundle->folder);
  json_free(bundle->json);
  free(bundle);
}
