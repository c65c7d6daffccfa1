/*===- llmmem-replay.c - Run a bundle on a GPU ------------------------------===*/

#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "Bundle/Fill.h"
#include "Options.h"
#include "Probe/Probe.h"
#include "Runner/Prices.h"
#include "Runner/Replay.h"
#include "Runner/Report.h"
#include "llmmem/Runtime/CudaLibraries.h"
#include "llmmem/Runtime/Runtime.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_BAD_INPUT = 1, EXIT_NO_DEVICE = 3, EXIT_SIGNAL = 128 };

static int fail(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("llmmem-replay: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return code;
}

/* A signal handler has nothing else to write to. */
static volatile sig_atomic_t caught = 0;

static void remember(int number) { caught = number; }

static void catch_interrupts(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = remember;
  action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/*===----------------------------------------------------------------------===*\
|* The device
\*===----------------------------------------------------------------------===*/

static llmmem_cuda *open_device(const Options *options) {
  char message[1024];
  llmmem_cuda *run = llmmem_cuda_open(options->driver, 0, message, sizeof message);
  if (!run) {
    fail(0, "%s", message);
    return NULL;
  }
  int capability = llmmem_cuda_capability(run);
  if (capability >= 80)
    return run;
  fail(0, "%s has compute capability %d.%d; expected 8.0 or later, which multiplies bf16",
       llmmem_cuda_device_name(run), capability / 10, capability % 10);
  llmmem_cuda_close(run);
  return NULL;
}

typedef struct {
  llmmem_cuda *run;
  char reasons[4096];
} Opening;

static int open_library(void *context, const char *name) {
  Opening *opening = context;
  char message[1024];
  if (llmmem_cuda_open_products(opening->run, name, message, sizeof message) == 0)
    return 0;
  size_t length = strlen(opening->reasons);
  snprintf(opening->reasons + length, sizeof opening->reasons - length, "%s%s", length ? "; " : "",
           message);
  return 1;
}

/* Chooses the program to run: with a library's products where it can be opened, unless the options
 * say. Null, with the exit code, where it cannot be run. */
static const Program *choose_program(const Bundle *bundle, const Options *options, llmmem_cuda *run,
                                     int *code) {
  static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  int capability = llmmem_cuda_capability(run);
  const Program *generated = bundle_program(bundle, "generated", capability),
                *library = bundle_program(bundle, "library", capability);
  *code = EXIT_BAD_INPUT;
  if (options->products == PRODUCTS_LIBRARY && !library)
    fail(0, "'%s' has no program for a library's products: pack it with --products=both",
         options->bundle);
  if (options->products == PRODUCTS_GENERATED || !library)
    return options->products == PRODUCTS_LIBRARY ? NULL : generated;
  Opening opening = {run, ""};
  char message[1024];
  int failed = options->cublas_lt ? open_library(&opening, options->cublas_lt)
                                  : llmmem_find_cuda_library(names, 2, open_library, &opening);
  if (!failed && options->algorithms &&
      llmmem_cuda_keep_algorithms(run, options->algorithms, message, sizeof message)) {
    fail(0, "%s", message);
    return NULL;
  }
  if (!failed)
    return library;
  *code = EXIT_NO_DEVICE;
  if (options->products == PRODUCTS_LIBRARY || !generated) {
    fail(0, "%s", opening.reasons);
    return NULL;
  }
  fprintf(stderr,
          "llmmem-replay: warning: computes matmuls by generated kernels: %s; name its folder in "
          "LLMMEM_CUDA_PATH or the library by --cublas-lt; --products=generated asks for what is "
          "done now\n",
          opening.reasons);
  return generated;
}

static int describe_device(const Options *options) {
  llmmem_cuda *run = open_device(options);
  llmmem_cuda_facts facts;
  if (!run)
    return EXIT_NO_DEVICE;
  int failed = llmmem_cuda_describe(run, &facts);
  if (failed) {
    fail(0, "%s", llmmem_cuda_message(run));
  } else {
    fputs("{\"name\":", stdout);
    print_text(stdout, llmmem_cuda_device_name(run));
    printf(",\"capability\":%d,\"cuda\":%d,\"clock_khz\":%d,\"memory_clock_khz\":%d,"
           "\"multiprocessors\":%d,\"free_bytes\":%lld,\"total_bytes\":%lld}\n",
           llmmem_cuda_capability(run), facts.cuda_version, facts.clock_khz, facts.memory_clock_khz,
           facts.multiprocessors, (long long)facts.free_bytes, (long long)facts.total_bytes);
  }
  llmmem_cuda_close(run);
  return failed ? EXIT_NO_DEVICE : EXIT_DONE;
}

static int measure_copies(const Options *options) {
  llmmem_cuda *run = open_device(options);
  if (!run)
    return EXIT_NO_DEVICE;
  int failed = probe_copies(run);
  if (failed)
    fail(0, "%s", llmmem_cuda_message(run));
  llmmem_cuda_close(run);
  return failed ? EXIT_NO_DEVICE : EXIT_DONE;
}

/*===----------------------------------------------------------------------===*\
|* Steps
\*===----------------------------------------------------------------------===*/

typedef struct {
  const Options *options;
  const Bundle *bundle;
  Replay replay;
  Profile profile;
  double *seconds; /* the device's, of each step that ran */
  size_t steps;
} Session;

static const char *name_of_products(const Session *session, char *text, size_t size) {
  const llmmem_products *products = llmmem_cuda_products(session->replay.run);
  if (!products || strcmp(session->replay.program->products, "library") != 0)
    return "generated kernels";
  long long version = llmmem_products_version(products);
  snprintf(text, size, "cuBLASLt %lld.%lld.%lld", version / 10000, version / 100 % 100,
           version % 100);
  return text;
}

static int run_marked(Session *session) {
  size_t count = session->replay.program->timed_count;
  int64_t *ns = calloc(count + 1, sizeof *ns);
  int failed = !ns ||
               llmmem_cuda_run_marked(session->replay.run, replay_calls, &session->replay, ns,
                                      (int64_t)count) ||
               profile_add(&session->profile, ns);
  free(ns);
  return failed;
}

static int read_loss(Session *session, double *loss) {
  const Buffer *buffer = &session->bundle->buffers[session->bundle->loss];
  uint64_t bytes = 0;
  if (llmmem_cuda_download(session->replay.run, &bytes,
                           llmmem_cuda_resident(session->replay.run) + (uint64_t)buffer->offset,
                           buffer->bytes))
    return 1;
  *loss = read_number(buffer->type, &bytes);
  return 0;
}

static int print_step(Session *session, int64_t number, double loss, double seconds) {
  llmmem_cuda *run = session->replay.run;
  char text[64];
  if (!session->options->as_json) {
    int is_double = session->bundle->buffers[session->bundle->loss].type == TYPE_F64;
    printf(is_double ? "step %lld  loss %.17g\n" : "step %lld  loss %.9g\n", (long long)number,
           loss);
    fflush(stdout);
    return 0;
  }
  uint64_t digest = 0;
  if (session->options->digest && replay_digest(&session->replay, &digest))
    return 1;
  printf("{\"step\":%lld,\"loss\":", (long long)number);
  printf(isfinite(loss) ? "%.17g" : "null", loss);
  printf(",\"seconds\":%.9g", seconds);
  if (!session->options->profiles)
    printf(",\"device_seconds\":%.9g", 1e-9 * (double)llmmem_cuda_replay_ns(run));
  if (session->options->digest)
    printf(",\"digest\":\"%016llx\"", (unsigned long long)digest);
  int64_t measured = llmmem_cuda_measured_bytes(run);
  const Replay *replay = &session->replay;
  printf(",\"arena\":%lld,\"resident_measured\":%lld,\"device_measured\":%lld,\"products\":\"%s\"",
         (long long)session->bundle->arena, (long long)session->bundle->resident,
         (long long)measured, name_of_products(session, text, sizeof text));
  printf(
      ",\"memory\":{\"reserved\":%lld,\"library\":%lld,\"code\":%lld,\"graph\":%lld}}\n",
      (long long)replay->reserved_bytes, (long long)replay->context_bytes,
      (long long)replay->code_bytes,
      (long long)(measured - replay->reserved_bytes - replay->context_bytes - replay->code_bytes));
  fflush(stdout);
  return 0;
}

static int run_step(Session *session, const Tokens *tokens, int64_t number) {
  llmmem_cuda *run = session->replay.run;
  const Options *options = session->options;
  StepInputs inputs = {tokens, options->seed, options->rate, number};
  int64_t begin = llmmem_clock();
  double loss = 0;
  if (fill_before_step(run, session->bundle, &inputs, session->replay.host) ||
      (options->profiles ? run_marked(session) : llmmem_cuda_replay(run)) ||
      read_loss(session, &loss))
    return 1;
  session->seconds[session->steps++] = 1e-9 * (double)llmmem_cuda_replay_ns(run);
  return print_step(session, number + 1, loss, 1e-9 * (double)(llmmem_clock() - begin));
}

static int compare(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* The first step warms up. */
static double median_seconds(Session *session) {
  size_t first = session->steps > 1, count = session->steps - first;
  qsort(session->seconds + first, count, sizeof *session->seconds, compare);
  double *middle = session->seconds + first + count / 2;
  return count % 2 ? *middle : (middle[-1] + middle[0]) / 2;
}

static int print_end(Session *session) {
  const Bundle *bundle = session->bundle;
  llmmem_cuda *run = session->replay.run;
  uint64_t digest = 0;
  char text[64];
  if (session->options->as_json)
    return 0;
  if (replay_digest(&session->replay, &digest))
    return 1;
  printf("digest %016llx\n", (unsigned long long)digest);
  int64_t peak = json_integer(bundle->predicted, "peak", -1);
  if (peak >= 0)
    printf("peak predicted %lld bytes\n", (long long)peak);
  printf("device memory predicted %lld bytes (resident %lld, arena %lld), measured %lld\n",
         (long long)(bundle->resident + bundle->arena), (long long)bundle->resident,
         (long long)bundle->arena, (long long)llmmem_cuda_measured_bytes(run));
  if (!session->options->profiles && session->steps > 0) {
    double expected = predicted_ns(bundle);
    printf("step measured %.3f ms of the device", 1e3 * median_seconds(session));
    if (expected >= 0)
      printf(", predicted %.3f", 1e-6 * expected);
    fputc('\n', stdout);
  }
  printf("loaded %zu kernels, %zu calls a step\n", session->replay.program->kernel_count,
         session->replay.program->call_count);
  printf("matmuls by %s\nrun on %s\n", name_of_products(session, text, sizeof text),
         llmmem_cuda_device_name(run));
  return 0;
}

static int write_profile(Session *session) {
  const Options *options = session->options;
  if (options->profile)
    profile_print(&session->profile, options->as_json ? stderr : stdout);
  if (options->profile_json && profile_write(&session->profile, options->profile_json))
    return fail(EXIT_BAD_INPUT, "'%s' cannot be written: %s", options->profile_json,
                strerror(errno));
  return EXIT_DONE;
}

static int fail_with_run(Session *session) {
  const char *why = llmmem_cuda_message(session->replay.run);
  return fail(EXIT_BAD_INPUT, "%s", *why ? why : "not enough memory on the host");
}

static int write_prices(Session *session) {
  Profile prices = {.program = session->replay.program};
  const char *path = session->options->prices_json;
  session->replay.takes_marks = 0;
  int code = EXIT_DONE;
  if (prices_measure(&session->replay, &prices))
    code = fail_with_run(session);
  else if (profile_write(&prices, path))
    code = fail(EXIT_BAD_INPUT, "'%s' cannot be written: %s", path, strerror(errno));
  profile_close(&prices);
  return code;
}

static int run_steps(Session *session, const Tokens *tokens) {
  const Options *options = session->options;
  session->seconds = calloc((size_t)options->steps, sizeof *session->seconds);
  if (!session->seconds ||
      fill_at_first(session->replay.run, session->bundle, options->seed, session->replay.host))
    return fail_with_run(session);
  catch_interrupts();
  for (int64_t number = 0; number < options->steps && !caught; ++number)
    if (run_step(session, tokens, number))
      return fail_with_run(session);
  if (print_end(session))
    return fail_with_run(session);
  int code = options->profiles ? write_profile(session) : EXIT_DONE;
  if (code == EXIT_DONE && options->prices_json && !caught)
    code = write_prices(session);
  if (caught) {
    fputs("llmmem-replay: interrupted; nothing is saved\n", stderr);
    return EXIT_SIGNAL + caught;
  }
  return code;
}

static int report_nothing(const Session *session) {
  printf("resident %lld bytes, arena %lld, together %lld\n", (long long)session->bundle->resident,
         (long long)session->bundle->arena,
         (long long)(session->bundle->resident + session->bundle->arena));
  printf("loaded %zu kernels; nothing was run\n", session->replay.program->kernel_count);
  return EXIT_DONE;
}

static int probe_all(Session *session) {
  int is_generated = strcmp(session->replay.program->products, "generated") == 0;
  if (probe_products(&session->replay) || (is_generated && probe_attention(&session->replay)))
    return fail_with_run(session);
  return EXIT_DONE;
}

/* Runs with `products` chosen. Returns -1 where one of the library's products fails before anything
 * has run, and generated kernels may run in its place. */
static int run_program(Session *session, const Program *program, const Tokens *tokens,
                       llmmem_cuda *run) {
  const Options *options = session->options;
  ReplayOutcome outcome = replay_open(&session->replay, session->bundle, program, run);
  if (outcome != REPLAY_DONE)
    return fail(outcome == REPLAY_BAD ? EXIT_BAD_INPUT : EXIT_NO_DEVICE, "%s",
                session->replay.message);
  session->replay.takes_marks = options->profiles;
  session->profile.program = program;
  if (options->probe_products)
    return probe_all(session);
  if (!options->profiles)
    llmmem_cuda_capture(run, replay_calls, &session->replay);
  else
    llmmem_cuda_choose_algorithms(run, replay_calls, &session->replay);
  if (*llmmem_cuda_message(run)) {
    int may_generate = llmmem_cuda_failed_product(run) >= 0 && options->products == PRODUCTS_BEST &&
                       bundle_program(session->bundle, "generated", llmmem_cuda_capability(run));
    if (!may_generate)
      return fail_with_run(session);
    fprintf(stderr, "llmmem-replay: warning: computes matmuls by generated kernels: %s\n",
            llmmem_cuda_message(run));
    return -1;
  }
  return options->dry_run ? report_nothing(session) : run_steps(session, tokens);
}

static int run_session(Session *session, const Tokens *tokens, Products products) {
  Options options = *session->options;
  options.products = products;
  int code = EXIT_NO_DEVICE;
  llmmem_cuda *run = open_device(&options);
  if (!run)
    return EXIT_NO_DEVICE;
  const Program *program = choose_program(session->bundle, &options, run, &code);
  if (program) {
    code = run_program(session, program, tokens, run);
    replay_close(&session->replay);
    profile_close(&session->profile);
    free(session->seconds);
    session->seconds = NULL;
  }
  llmmem_cuda_close(run);
  return code;
}

static int run_bundle(const Options *options, const Bundle *bundle) {
  Tokens tokens = {.ids = NULL};
  char message[4096];
  int is_fed = !options->dry_run && !options->probe_products;
  if (options->probe_products && !bundle_program(bundle, "library", 0))
    return fail(EXIT_BAD_INPUT,
                "--probe-products: '%s' has no program for a library, which names the products",
                bundle->path);
  if (is_fed && tokens_read(&tokens, options->data ? options->data : options->tokens,
                            options->data != NULL, bundle->vocabulary, message, sizeof message))
    return fail(EXIT_BAD_INPUT, "%s", message);
  int64_t needed = 0;
  for (size_t k = 0; k < bundle->buffer_count; ++k)
    if (bundle->buffers[k].make == MAKE_IDS)
      needed = bundle->buffers[k].elements;
  int code;
  if (is_fed && (int64_t)tokens.count < needed) {
    code = fail(EXIT_BAD_INPUT, "'%s' has %zu ids; one batch needs %lld",
                options->data ? options->data : options->tokens, tokens.count, (long long)needed);
  } else {
    Session session = {.options = options, .bundle = bundle};
    code = run_session(&session, &tokens, options->products);
    if (code < 0)
      code = run_session(&session, &tokens, PRODUCTS_GENERATED);
  }
  tokens_free(&tokens);
  return code;
}

static int check_bundle(const Bundle *bundle) {
  char message[4096];
  int64_t bytes;
  size_t files;
  if (bundle_check(bundle, &bytes, &files, message, sizeof message))
    return fail(EXIT_BAD_INPUT, "%s", message);
  printf("%zu images of kernels, %lld bytes, are whole\n", files, (long long)bytes);
  return EXIT_DONE;
}

/* What is printed line by line is lost where stdout does not take it: a full disk, a closed one. */
static int finish_stdout(int code) {
  errno = 0;
  if (fflush(stdout) || ferror(stdout))
    return fail(EXIT_BAD_INPUT, "stdout cannot be written: %s",
                errno ? strerror(errno) : "a line was not taken");
  return code;
}

int main(int argc, char **argv) {
  Options options;
  char message[4096];
  if (options_read(&options, argc, argv, message, sizeof message))
    return fail(EXIT_BAD_INPUT, "%s", message);
  if (options.help) {
    options_print_help();
    return finish_stdout(EXIT_DONE);
  }
  if (options.describe_device)
    return finish_stdout(describe_device(&options));
  if (options.probe_copies)
    return finish_stdout(measure_copies(&options));
  Bundle *bundle = bundle_read(options.bundle, message, sizeof message);
  if (!bundle)
    return fail(EXIT_BAD_INPUT, "%s", message);
  int code = options.check ? check_bundle(bundle) : run_bundle(&options, bundle);
  bundle_close(bundle);
  return finish_stdout(code);
}
