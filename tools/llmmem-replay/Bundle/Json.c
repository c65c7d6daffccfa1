/*===- Json.c - JSON as a tree ----------------------------------------------===*/

#include "Bundle/Json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 32 };

typedef struct {
  const char *at, *end;
  int line, depth;
  char *message;
  size_t size;
} Reader;

static int fail(Reader *reader, const char *what) {
  snprintf(reader->message, reader->size, "line %d: %s%s", reader->line, what,
           reader->at == reader->end ? "; the file ends here" : "");
  return 1;
}

static void skip_spaces(Reader *reader) {
  for (; reader->at < reader->end && strchr(" \t\r\n", *reader->at); ++reader->at) {
    if (*reader->at == '\0')
      return;
    reader->line += *reader->at == '\n';
  }
}

/* Takes the next character if it is this one, and returns whether it is. */
static int take(Reader *reader, char wanted) {
  skip_spaces(reader);
  if (reader->at == reader->end || *reader->at != wanted)
    return 0;
  ++reader->at;
  return 1;
}

/* Reads escapes of one character only; llmmem writes no others. */
static int read_text(Reader *reader, char **text) {
  if (!take(reader, '"'))
    return fail(reader, "expected a text in quotes");
  size_t count = 0, room = 16;
  char *made = malloc(room);
  for (; made && reader->at < reader->end && *reader->at != '"'; ++reader->at) {
    if (*reader->at == '\\' && ++reader->at == reader->end)
      break;
    if (count + 1 == room) {
      char *larger = realloc(made, room *= 2);
      if (!larger)
        break;
      made = larger;
    }
    made[count++] = *reader->at;
  }
  if (!made || reader->at == reader->end || *reader->at != '"') {
    free(made);
    return fail(reader, "expected the end of a text");
  }
  ++reader->at;
  made[count] = '\0';
  *text = made;
  return 0;
}

static int read_value(Reader *reader, Json *value);

static int read_list(Reader *reader, Json *value, char end) {
  size_t room = 0;
  ++reader->at;
  if (++reader->depth > MOST_DEPTH)
    return fail(reader, "expected fewer lists in lists");
  if (take(reader, end)) {
    --reader->depth;
    return 0;
  }
  do {
    if (value->as.list.count == room) {
      room = room ? 2 * room : 8;
      Json *larger = realloc(value->as.list.items, room * sizeof *larger);
      if (!larger)
        return fail(reader, "not enough memory");
      value->as.list.items = larger;
    }
    Json *item = &value->as.list.items[value->as.list.count];
    memset(item, 0, sizeof *item);
    ++value->as.list.count;
    if (end == '}' && read_text(reader, &item->key))
      return 1;
    if (end == '}' && !take(reader, ':'))
      return fail(reader, "expected ':'");
    if (read_value(reader, item))
      return 1;
  } while (take(reader, ','));
  --reader->depth;
  return take(reader, end)
             ? 0
             : fail(reader, end == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

static int read_number(Reader *reader, Json *value) {
  char text[64];
  size_t count = 0;
  int is_real = 0;
  for (; reader->at < reader->end && count + 1 < sizeof text && *reader->at &&
         strchr("+-.0123456789eE", *reader->at);
       ++reader->at) {
    is_real |= strchr(".eE", *reader->at) != NULL;
    text[count++] = *reader->at;
  }
  text[count] = '\0';
  char *end = text;
  errno = 0;
  value->kind = is_real ? JSON_REAL : JSON_INTEGER;
  if (is_real)
    value->as.real = strtod(text, &end);
  else
    value->as.integer = strtoll(text, &end, 10);
  return count == 0 || *end || (!is_real && errno) ? fail(reader, "expected a value") : 0;
}

static int read_word(Reader *reader, Json *value) {
  static const struct {
    const char *name;
    JsonKind kind;
    int is_true;
  } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k) {
    size_t length = strlen(words[k].name);
    if ((size_t)(reader->end - reader->at) < length ||
        strncmp(reader->at, words[k].name, length) != 0)
      continue;
    reader->at += length;
    value->kind = words[k].kind;
    value->as.integer = words[k].is_true;
    return 0;
  }
  return fail(reader, "expected a value");
}

static int read_value(Reader *reader, Json *value) {
  skip_spaces(reader);
  char next = reader->at < reader->end ? *reader->at : '\0';
  if (next == '{' || next == '[') {
    value->kind = next == '{' ? JSON_OBJECT : JSON_LIST;
    return read_list(reader, value, next == '{' ? '}' : ']');
  }
  if (next == '"') {
    value->kind = JSON_TEXT;
    return read_text(reader, &value->as.text);
  }
  return strchr("tfn", next) && next ? read_word(reader, value) : read_number(reader, value);
}

static void free_contents(Json *value) {
  free(value->key);
  if (value->kind == JSON_TEXT)
    free(value->as.text);
  if (value->kind != JSON_LIST && value->kind != JSON_OBJECT)
    return;
  for (size_t k = 0; k < value->as.list.count; ++k)
    free_contents(&value->as.list.items[k]);
  free(value->as.list.items);
}

void json_free(Json *json) {
  if (json)
    free_contents(json);
  free(json);
}

Json *json_parse(const char *text, size_t size, char *message, size_t message_size) {
  Reader reader = {text, text + size, 1, 0, message, message_size};
  Json *json = calloc(1, sizeof *json);
  if (!json) {
    snprintf(message, message_size, "not enough memory");
    return NULL;
  }
  int failed = read_value(&reader, json);
  skip_spaces(&reader);
  if (!failed && reader.at != reader.end)
    failed = fail(&reader, "expected the end of the file");
  if (!failed)
    return json;
  json_free(json);
  return NULL;
}

const Json *json_find(const Json *object, const char *key) {
  if (!object || object->kind != JSON_OBJECT)
    return NULL;
  for (size_t k = 0; k < object->as.list.count; ++k)
    if (strcmp(object->as.list.items[k].key, key) == 0)
      return &object->as.list.items[k];
  return NULL;
}

int64_t json_integer(const Json *object, const char *key, int64_t otherwise) {
  const Json *value = json_find(object, key);
  return value && (value->kind == JSON_INTEGER || value->kind == JSON_BOOL) ? value->as.integer
                                                                            : otherwise;
}

double json_number(const Json *object, const char *key, double otherwise) {
  const Json *value = json_find(object, key);
  if (value && value->kind == JSON_INTEGER)
    return (double)value->as.integer;
  return value && value->kind == JSON_REAL ? value->as.real : otherwise;
}

const char *json_text(const Json *object, const char *key, const char *otherwise) {
  const Json *value = json_find(object, key);
  return value && value->kind == JSON_TEXT ? value->as.text : otherwise;
}

JsonItems json_items(const Json *list) {
  if (!list || (list->kind != JSON_LIST && list->kind != JSON_OBJECT))
    return (JsonItems){NULL, 0};
  return (JsonItems){list->as.list.items, list->as.list.count};
}
