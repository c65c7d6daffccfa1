/* Checks of programs in C: each exits with 1 and its line where it fails, and is counted. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks;

#define CHECK(holds)                                                                               \
  do {                                                                                             \
    ++checks;                                                                                      \
    if (!(holds))                                                                                  \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds), exit(1);                         \
  } while (0)

/* The call gives `result` with a message that contains `text`; then again without room for one. */
#define FAILS(result, text, call)                                                                  \
  do {                                                                                             \
    char *message = NULL, **error = &message;                                                      \
    CHECK((call) == (result));                                                                     \
    CHECK(message != NULL);                                                                        \
    if (!strstr(message, text))                                                                    \
      fprintf(stderr, "%s:%d: '%s' is not in '%s'\n", __FILE__, __LINE__, text, message), exit(1); \
    llmmem_free_text(message);                                                                     \
    error = NULL;                                                                                  \
    CHECK((call) == (result));                                                                     \
  } while (0)
