/*===- Options.c - The command line of llmmem-replay ------------------------===*/

#include "Options.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "llmmem-replay: runs a planned step that llmmem-bundle has written\n\n"
    "USAGE: llmmem-replay [options] <bundle.json>\n\n"
    "OPTIONS\n"
    "  --steps=N             Steps to run (default 1)\n"
    "  --data=text           Train on the bytes of this file\n"
    "  --tokens=ids          Train on token ids separated by white space\n"
    "  --seed=N              Seed of parameters and dropout (default 0)\n"
    "  --lr=X                Learning rate (default 1e-3)\n"
    "  --products=P          What computes matmuls: library (cuBLASLt) or generated (default:\n"
    "                        library where it can be opened and computes all of them)\n"
    "  --cublas-lt=library   cuBLASLt, as dlopen finds it (default libcublasLt.so.13, else .12: "
    "in\n"
    "                        the folders of LLMMEM_CUDA_PATH, where dlopen looks, or next to "
    "python3)\n"
    "  --product-algorithms=folder\n"
    "                        Time the library's algorithms for each form of matmul once, and keep "
    "the\n"
    "                        fastest in this folder, for all runs on this device and version of "
    "it\n"
    "  --cuda-driver=library The CUDA driver, as dlopen finds it (default libcuda.so.1)\n"
    "  --json                Print one line of JSON for each step\n"
    "  --no-digest           Leave the digest out of --json: it fetches all parameters each step\n"
    "  --profile             Print the time of each kind of kernel, by phase\n"
    "  --profile-json=file   Write the time of each call as JSON\n"
    "  --prices-json=file    Write the same without what events cost, so that together the calls\n"
    "                        take what a replay of the step takes\n"
    "  --dry-run             Load the kernels, reserve memory and capture the step, and run "
    "nothing\n"
    "  --check               Check that the bundle is whole, without a device\n"
    "  --probe-products      Compute each form of product of the step by itself, twice, on random\n"
    "                        numbers, and print errors against float64 and times, a line of JSON "
    "each\n"
    "  --probe-copies        Print GB/s of copies on the device, to it and from it\n"
    "  --describe-device     Print what a step would run on as JSON\n\n"
    "EXIT CODES\n"
    "  0    all steps ran\n"
    "  1    bad input: the message says what was expected\n"
    "  3    no driver or no device was found, or it has too little free memory;\n"
    "       --products=library: no cuBLASLt was found\n"
    "  130  Ctrl-C: the running step was finished (a second Ctrl-C ends at once); 143 is the same\n"
    "       for SIGTERM\n";

void options_print_help(void) { fputs(help, stdout); }

typedef struct {
  Options *options;
  char *message;
  size_t size;
} Reader;

static int fail(Reader *reader, const char *flag, const char *what) {
  snprintf(reader->message, reader->size, "%s: %s", flag, what);
  return 1;
}

/* Reads flags without a value. Returns whether the argument is one. */
static int read_switch(Options *options, const char *flag) {
  const struct {
    const char *name;
    int *value, set;
  } known[] = {{"--json", &options->as_json, 1},
               {"--no-digest", &options->digest, 0},
               {"--profile", &options->profile, 1},
               {"--dry-run", &options->dry_run, 1},
               {"--check", &options->check, 1},
               {"--describe-device", &options->describe_device, 1},
               {"--probe-products", &options->probe_products, 1},
               {"--probe-copies", &options->probe_copies, 1},
               {"--help", &options->help, 1}};
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
    if (strcmp(flag, known[k].name) == 0) {
      *known[k].value = known[k].set;
      return 1;
    }
  return 0;
}

static int read_products(Reader *reader, const char *value) {
  Options *options = reader->options;
  options->products = strcmp(value, "library") == 0     ? PRODUCTS_LIBRARY
                      : strcmp(value, "generated") == 0 ? PRODUCTS_GENERATED
                                                        : PRODUCTS_BEST;
  return options->products == PRODUCTS_BEST
             ? fail(reader, "--products", "expected library or generated")
             : 0;
}

static int read_steps(Reader *reader, const char *value) {
  char *end = NULL;
  errno = 0;
  reader->options->steps = strtoll(value, &end, 10);
  return *end || end == value || errno || reader->options->steps < 1
             ? fail(reader, "--steps", "expected a number of steps, 1 or more")
             : 0;
}

static int read_seed(Reader *reader, const char *value) {
  char *end = NULL;
  errno = 0;
  reader->options->seed = strtoull(value, &end, 10);
  return *end || end == value || errno || *value == '-'
             ? fail(reader, "--seed", "expected a number, 0 or more")
             : 0;
}

static int read_rate(Reader *reader, const char *value) {
  char *end = NULL;
  double rate = reader->options->rate = strtod(value, &end);
  return *end || end == value || !isfinite(rate) || rate < 0
             ? fail(reader, "--lr", "expected a number, 0 or more")
             : 0;
}

/* Reads --name=value, or --name and then the value. */
static int read_flag(Reader *reader, int argc, char **argv, int *at) {
  Options *options = reader->options;
  const struct {
    const char *name, **text;
    int (*read)(Reader *reader, const char *value); /* Null means that the text is the value. */
  } known[] = {{"data", &options->data, NULL},
               {"tokens", &options->tokens, NULL},
               {"cuda-driver", &options->driver, NULL},
               {"cublas-lt", &options->cublas_lt, NULL},
               {"product-algorithms", &options->algorithms, NULL},
               {"prices-json", &options->prices_json, NULL},
               {"profile-json", &options->profile_json, NULL},
               {"products", NULL, read_products},
               {"steps", NULL, read_steps},
               {"seed", NULL, read_seed},
               {"lr", NULL, read_rate}};
  const char *flag = argv[*at], *name = flag + 2, *sign = strchr(name, '=');
  size_t length = sign ? (size_t)(sign - name) : strlen(name);
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
    if (strlen(known[k].name) != length || strncmp(name, known[k].name, length) != 0)
      continue;
    if (!sign && *at + 1 == argc)
      return fail(reader, flag, "expected a value");
    const char *value = sign ? sign + 1 : argv[++*at];
    if (known[k].read)
      return known[k].read(reader, value);
    *known[k].text = value;
    return 0;
  }
  return fail(reader, flag, "there is no such flag; see --help");
}

static int check(Reader *reader) {
  Options *options = reader->options;
  if (options->help || options->describe_device || options->probe_copies)
    return 0;
  if (!options->bundle)
    return fail(reader, "usage", "expected a bundle: llmmem-replay step.json --data text.txt");
  if (!options->check && !options->dry_run && !options->probe_products &&
      (options->data != NULL) == (options->tokens != NULL))
    return fail(reader, "usage", "expected either --data text.txt or --tokens ids.txt");
  return 0;
}

int options_read(Options *options, int argc, char **argv, char *message, size_t size) {
  memset(options, 0, sizeof *options);
  options->driver = "libcuda.so.1";
  options->steps = 1;
  options->rate = 1e-3;
  options->digest = 1;
  Reader reader = {options, message, size};
  for (int k = 1; k < argc; ++k) {
    if (strncmp(argv[k], "--", 2) != 0) {
      if (options->bundle)
        return fail(&reader, argv[k], "expected one bundle");
      options->bundle = argv[k];
    } else if (!read_switch(options, argv[k]) && read_flag(&reader, argc, argv, &k)) {
      return 1;
    }
  }
  options->profiles = options->profile || options->profile_json != NULL;
  return check(&reader);
}
