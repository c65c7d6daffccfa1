/*===- Forms.h - A step that can run in several forms -----------------------===*
 *
 * A step may run in several forms that give the same results: made of other ops (a product that
 * takes its activation, or leaves it apart), and with other tilings of an op that works in chunks,
 * each with another cost and another workspace. The planner chooses the form together with the
 * plan, as llmmem-plan does with a file (docs/Design/Planning.md, "Forms").
 *
 * Example: the op 2 of `problem` costs 10 with a workspace of 100 bytes, or 12 with one of 25.
 *
 *   int32_t ops[] = {2};
 *   int64_t costs[] = {10, 12}, workspaces[] = {100, 25};
 *   llmmem_form form = LLMMEM_INIT(llmmem_form);
 *   form.problem = &problem;
 *   form.num_tilings = 2;
 *   form.num_tiled_ops = 1;
 *   form.tiled_ops = ops;
 *   form.tiled_costs = costs;
 *   form.tiled_workspaces = workspaces;
 *   const llmmem_form *list[] = {&form};
 *   llmmem_forms forms = LLMMEM_INIT(llmmem_forms);
 *   forms.num_forms = 1;
 *   forms.forms = list;
 *   llmmem_form_number chosen;
 *   if (llmmem_make_plan_of_forms(&forms, NULL, &plan, &chosen, NULL, &error) == LLMMEM_OK)
 *     printf("tiling %d\n", chosen.tiling);
 *
 *===----------------------------------------------------------------------===*/

#ifndef LLMMEM_C_FORMS_H
#define LLMMEM_C_FORMS_H

#include "llmmem-c/Planner.h"

LLMMEM_C_BEGIN

/* Is a step made of these ops, in all its tilings. They come with the cheapest and the largest
 * workspaces first. */
typedef struct llmmem_form {
  size_t size;
  const llmmem_problem *problem;
  int64_t num_tilings;   /* 0: the problem as it is */
  int64_t num_tiled_ops; /* ops that differ between tilings */
  const int32_t *tiled_ops;
  const int64_t *tiled_costs;      /* [num_tilings][num_tiled_ops], in place of op_costs */
  const int64_t *tiled_workspaces; /* [num_tilings][num_tiled_ops], in place of op_workspaces */
  int64_t num_selected;            /* of the policy "selective" alone */
  const int32_t *selected;         /* forward ops of `problem` whose results it recomputes */
} llmmem_form;

enum {
  LLMMEM_CHOOSE_BY_PLAN = 0,    /* the cheapest plan decides */
  LLMMEM_CHOOSE_BY_OPS_ONCE = 1 /* the least cost of all ops once: the same under every budget */
};

typedef struct llmmem_forms {
  size_t size;
  int64_t num_forms;               /* at least 1; all problems have one budget and one alignment */
  const llmmem_form *const *forms; /* [num_forms] */
  int32_t choice;
  int32_t guessed_phases; /* 1: op_phases are found, no facts: a plan without them is tried too */
} llmmem_forms;

/* Names one of the forms, and one of its tilings; both count from 0. */
typedef struct llmmem_form_number {
  int32_t form;
  int32_t tiling;
} llmmem_form_number;

/* Does what llmmem_make_plan does, over all forms: the plan is of the form that `chosen` receives,
 * and its bounds hold for all of them. `proof` may be NULL; else it receives what proves the bounds
 * of that form (docs/Design/Proofs.md), which the caller frees with llmmem_free_text. */
LLMMEM_C_EXPORT llmmem_result llmmem_make_plan_of_forms(const llmmem_forms *forms,
                                                        const llmmem_plan_options *options,
                                                        const llmmem_plan **plan,
                                                        llmmem_form_number *chosen, char **proof,
                                                        char **error);

/* Gives the step in one form, for llmmem_verify_plan and the others. Its arrays are those of
 * `forms`, except for costs and workspaces, and live as long. The caller frees it with
 * llmmem_free_problem. */
LLMMEM_C_EXPORT llmmem_result llmmem_problem_of_form(const llmmem_forms *forms,
                                                     llmmem_form_number number,
                                                     const llmmem_problem **problem, char **error);
LLMMEM_C_EXPORT void llmmem_free_problem(const llmmem_problem *problem);

/* Gives the JSON that llmmem-plan reads, which states form 0 in tiling 0; the caller frees `text`
 * with llmmem_free_text. */
LLMMEM_C_EXPORT llmmem_result llmmem_forms_json(const llmmem_forms *forms, char **text,
                                                char **error);

LLMMEM_C_END

#endif /* LLMMEM_C_FORMS_H */
