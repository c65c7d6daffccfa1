/*===- Options.h - The command line of llmmem-replay ------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_OPTIONS_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/* `BEST` is the library where it can be opened and computes every product. */
typedef enum { PRODUCTS_BEST, PRODUCTS_LIBRARY, PRODUCTS_GENERATED } Products;

/* Many fields: each is a flag of llmmem-replay. */
typedef struct {
  const char *bundle, *data, *tokens, *driver, *cublas_lt, *profile_json, *algorithms, *prices_json;
  Products products;
  int64_t steps;
  uint64_t seed;
  double rate;
  int as_json, digest, dry_run, check, describe_device, profile, help;
  int probe_products, probe_copies;
  int profiles; /* whether calls are timed, for either flag */
} Options;

/* Returns 1, with the reason in `message`, where the command line is wrong. */
int options_read(Options *options, int argc, char **argv, char *message, size_t size);
void options_print_help(void);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_OPTIONS_H */
