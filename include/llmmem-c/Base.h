/*===- Base.h - What all of llmmem's C interface shares ----------------------===*
 *
 * The interface is C11, without C++. Every structure that may grow begins with its own size: a
 * program sets it with LLMMEM_INIT, and a library reads no more than that. A newer program may use
 * an older library as long as the fields that the library does not know are zero.
 *
 * Functions keep no state between calls; any number of threads may call at once. Memory that runs
 * out ends the process, as it does in LLVM.
 *
 *===----------------------------------------------------------------------===*/

#ifndef LLMMEM_C_BASE_H
#define LLMMEM_C_BASE_H

#include <stddef.h>
#include <stdint.h>

/* Everything between these has C's linkage in C++, too. */
#ifdef __cplusplus
#define LLMMEM_C_BEGIN extern "C" {
#define LLMMEM_C_END }
#else
#define LLMMEM_C_BEGIN
#define LLMMEM_C_END
#endif

LLMMEM_C_BEGIN

#define LLMMEM_C_EXPORT __attribute__((visibility("default")))

/* Makes structures with a size: `llmmem_problem problem = LLMMEM_INIT(llmmem_problem);` sets all
 * other fields to zero, which is always the default. */
#ifdef __cplusplus
#define LLMMEM_INIT(type)                                                                          \
  [] {                                                                                             \
    type made = {};                                                                                \
    made.size = sizeof(type);                                                                      \
    return made;                                                                                   \
  }()
#else
#define LLMMEM_INIT(type) {.size = sizeof(type)}
#endif

/* Every function that can fail returns one of these. */
typedef int32_t llmmem_result;
enum {
  LLMMEM_OK = 0,
  LLMMEM_INVALID = 1,   /* an argument is wrong; the error names it and the fix */
  LLMMEM_CANCELLED = 2, /* is_cancelled said so */
  LLMMEM_NO_PLAN = 3,   /* passes alone: there is no plan, or none was found, under the budget */
  LLMMEM_WRONG_PLAN = 4 /* the plan found does not hold; please report it */
};

/* Functions that can fail take a `char **error`. Where it is not NULL it receives NULL, or the
 * message of a failure, which the caller frees with llmmem_free_text. */
LLMMEM_C_EXPORT void llmmem_free_text(char *text);

/* Returns the version, such as "0.1.0". */
LLMMEM_C_EXPORT const char *llmmem_version(void);

LLMMEM_C_END

#endif /* LLMMEM_C_BASE_H */
