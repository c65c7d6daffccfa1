/*===- Json.h - JSON as a tree ----------------------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_JSON_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_JSON_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
  JSON_NULL,
  JSON_BOOL,
  JSON_INTEGER,
  JSON_REAL,
  JSON_TEXT,
  JSON_LIST,
  JSON_OBJECT
} JsonKind;

typedef struct Json {
  JsonKind kind;
  char *key; /* in an object */
  union {
    int64_t integer; /* of a bool too */
    double real;
    char *text;
    struct {
      struct Json *items;
      size_t count;
    } list; /* of an object too */
  } as;
} Json;

/* Parses a text. Returns null, with the reason in `message`, where it is no JSON: "line 3: expected
 * ',' or ']'". */
Json *json_parse(const char *text, size_t size, char *message, size_t message_size);
void json_free(Json *json);

/* Returns the value of a key, or null where `object` is none or has no such key. */
const Json *json_find(const Json *object, const char *key);
/* Returns the value of the key, or `otherwise` where it is none of that kind. */
int64_t json_integer(const Json *object, const char *key, int64_t otherwise);
double json_number(const Json *object, const char *key, double otherwise);
const char *json_text(const Json *object, const char *key, const char *otherwise);
/* The items of a list; there are none where it is no list. */
typedef struct {
  const Json *items;
  size_t count;
} JsonItems;
JsonItems json_items(const Json *list);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_JSON_H */
