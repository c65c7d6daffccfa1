/*===- Passes.h - llmmem's passes on modules of MLIR's C interface ------------===*
 *
 * This interface is for compilers that hold their programs as MlirModule. The program must have the
 * libMLIR.so and the libLLVM.so that this library has. Of MLIR it must link nothing statically in
 * addition to them except MLIR's own C interface (libMLIRCAPIIR.a).
 *
 * A function that fails leaves the module as it was. Modules of different contexts may be worked on
 * at once; a context belongs to one thread at a time, as always in MLIR.
 *
 * Example:
 *
 *   MlirDialectRegistry registry = mlirDialectRegistryCreate();
 *   llmmem_register_dialects(registry);
 *   mlirContextAppendDialectRegistry(context, registry);
 *   MlirModule module = mlirModuleCreateParse(context, text);
 *   char *error;
 *   if (llmmem_checkpoint_module(module, "budget=40GB device=h100", NULL, &error) != LLMMEM_OK)
 *     fprintf(stderr, "%s\n", error), llmmem_free_text(error);
 *
 *===----------------------------------------------------------------------===*/

#ifndef LLMMEM_C_PASSES_H
#define LLMMEM_C_PASSES_H

#include "llmmem-c/Base.h"
#include "mlir-c/IR.h"

LLMMEM_C_BEGIN

/* Registers the dialects `llm` and `func`, and the properties of targets and kernels that the ops
 * use. */
LLMMEM_C_EXPORT void llmmem_register_dialects(MlirDialectRegistry registry);

/* Holds what the planned module does not say. */
typedef struct llmmem_checkpoint_outcome {
  size_t size;
  double seconds;           /* that planning took */
  int64_t least_peak;       /* LLMMEM_NO_PLAN: the least peak found, in bytes */
  int64_t least_budget;     /* LLMMEM_NO_PLAN: the budget that a plan with that peak needs */
  int64_t peak_lower_bound; /* LLMMEM_NO_PLAN: no plan has a lower peak, proved */
} llmmem_checkpoint_outcome;

/* Plans the memory of the module's step, and verifies the plan: the pipeline `llmmem-checkpoint`
 * with these options, as in its text ("budget=40GB device=a100"; docs/Reference lists them). As the
 * pipeline does, it writes a summary on stderr. `outcome`, made by LLMMEM_INIT, may be NULL.
 * LLMMEM_OK: the module is the planned step. LLMMEM_NO_PLAN: none fits, or none was found.
 * LLMMEM_INVALID: an option or the program is wrong. The error has every diagnostic, with its
 * place.
 */
LLMMEM_C_EXPORT llmmem_result llmmem_checkpoint_module(MlirModule module, const char *options,
                                                       llmmem_checkpoint_outcome *outcome,
                                                       char **error);

/* Runs any passes of llmmem on the module, by the text of a pipeline:
 * "builtin.module(differentiate,func.func(annotate-memory))". */
LLMMEM_C_EXPORT llmmem_result llmmem_run_passes(MlirModule module, const char *pipeline,
                                                char **error);

LLMMEM_C_END

#endif /* LLMMEM_C_PASSES_H */
