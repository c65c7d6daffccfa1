/* include/llmmem-c/Passes.h from a program in C: c-passes MODEL. Prints the planned module; exits 1
 * with the line of the first check that fails. */

#include "check.h"
#include "llmmem-c/Passes.h"
#include "mlir-c/IR.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file);
  static char text[1 << 20];
  CHECK(fread(text, 1, sizeof(text) - 1, file) > 0);
  fclose(file);
  return text;
}

static void append(MlirStringRef piece, void *text) {
  char **end = text;
  memcpy(*end, piece.data, piece.length);
  *end += piece.length;
}

/* The text of a module; equal modules have equal texts. */
static char *print(MlirModule module) {
  char *text = calloc(1, 1 << 20), *end = text;
  mlirOperationPrint(mlirModuleGetOperation(module), append, &end);
  return text;
}

/* A newer program has a larger outcome. What it leaves zero changes nothing. */
static void newer_programs(MlirModule module) {
  struct {
    llmmem_checkpoint_outcome known;
    int64_t unknown;
  } newer = {LLMMEM_INIT(llmmem_checkpoint_outcome), 1};
  newer.known.size = sizeof(newer);
  FAILS(LLMMEM_INVALID, "outcome: asks for what llmmem",
        llmmem_checkpoint_module(module, "budget=4", &newer.known, error));
  newer.unknown = 0;
  FAILS(LLMMEM_NO_PLAN, "no plan exists",
        llmmem_checkpoint_module(module, "budget=4", &newer.known, error));
  CHECK(newer.known.least_peak > 0 && newer.unknown == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  MlirContext context = mlirContextCreate();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  llmmem_register_dialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  MlirModule module =
      mlirModuleCreateParse(context, mlirStringRefCreateFromCString(read_file(argv[1])));
  CHECK(!mlirModuleIsNull(module));

  const MlirModule none = {NULL};
  FAILS(LLMMEM_INVALID, "module: is null", llmmem_checkpoint_module(none, NULL, NULL, error));
  FAILS(LLMMEM_INVALID, "module: is null", llmmem_run_passes(none, "", error));
  FAILS(LLMMEM_INVALID, "pipeline: is NULL", llmmem_run_passes(module, NULL, error));
  FAILS(LLMMEM_INVALID, "does not refer to a registered pass",
        llmmem_run_passes(module, "builtin.module(no-such-pass)", error));
  FAILS(LLMMEM_INVALID, "pipeline: expected builtin.module",
        llmmem_run_passes(module, "func.func(annotate-memory)", error));
  llmmem_checkpoint_outcome outcome = LLMMEM_INIT(llmmem_checkpoint_outcome);
  FAILS(LLMMEM_INVALID, "options: budget: '4QB' is not a size in bytes",
        llmmem_checkpoint_module(module, "budget=4QB", NULL, error));
  FAILS(LLMMEM_INVALID, "no-such-option",
        llmmem_checkpoint_module(module, "no-such-option=1", NULL, error));
  outcome.size = 4;
  FAILS(LLMMEM_INVALID, "outcome: size is 4",
        llmmem_checkpoint_module(module, "budget=4MB", &outcome, error));
  outcome.size = sizeof(outcome);

  /* Without a plan the module is as it was, and the outcome says what is needed. */
  char *before = print(module);
  FAILS(LLMMEM_NO_PLAN, "error: no plan exists under a budget of 4 B",
        llmmem_checkpoint_module(module, "budget=4", &outcome, error));
  CHECK(outcome.least_budget >= outcome.least_peak && outcome.least_peak > 0);
  CHECK(outcome.peak_lower_bound > 0 && outcome.peak_lower_bound <= outcome.least_peak);
  FAILS(LLMMEM_NO_PLAN, "error: no plan exists under a budget of 4 B",
        llmmem_checkpoint_module(module, "budget=4", NULL, error));
  newer_programs(module);
  FAILS(LLMMEM_INVALID,
        "error:", llmmem_checkpoint_module(module, "entry=nowhere", &outcome, error));
  FAILS(LLMMEM_INVALID, "error:",
        llmmem_run_passes(module,
                          "builtin.module(func.func(apply-checkpoints),differentiate,"
                          "func.func(plan-arena))",
                          error));
  char *after = print(module);
  CHECK(!strcmp(before, after));
  free(before);
  free(after);

  char *error = NULL;
  if (llmmem_checkpoint_module(module, "budget=4MB", &outcome, &error) != LLMMEM_OK)
    fprintf(stderr, "%s\n", error), exit(1);
  if (llmmem_run_passes(module, "builtin.module(func.func(verify-plan))", &error) != LLMMEM_OK)
    fprintf(stderr, "%s\n", error), exit(1);
  CHECK(mlirOperationVerify(mlirModuleGetOperation(module)));
  char *text = print(module);
  printf("%s\n", text);
  fprintf(stderr, "%d checks\n", checks);
  free(text);
  llmmem_free_text(NULL);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return 0;
}
