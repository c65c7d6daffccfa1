/*===- Planner.h - The planner on plain arrays -------------------------------===*
 *
 * A problem is a straight-line program seen from its memory: ops in program order that read and
 * write values of known bytes. A plan is an execution order with repeats, and a byte offset in one
 * arena for every value that a step writes. docs/Design/Planning.md has the rules of both;
 * include/llmmem/Planning is the same in C++.
 *
 * Values and ops are numbered from 0, in the order of the arrays. Bytes are bytes, costs any one
 * unit. Lists of lists are two arrays: op i reads op_reads[op_reads_begin[i]] up to, and without,
 * op_reads[op_reads_begin[i + 1]].
 *
 * Example: x (1024 bytes) -> matmul -> y (1024 bytes), y kept; peak 2048.
 *
 *   int64_t bytes[] = {1024, 1024}, costs[] = {12}, begin[] = {0, 1};
 *   int32_t x[] = {0}, y[] = {1};
 *   llmmem_problem problem = LLMMEM_INIT(llmmem_problem);
 *   problem.budget = 4096;
 *   problem.num_values = 2;
 *   problem.value_bytes = bytes;
 *   problem.num_ops = 1;
 *   problem.op_costs = costs;
 *   problem.op_reads_begin = problem.op_writes_begin = begin;
 *   problem.op_reads = x;
 *   problem.op_writes = problem.keep = y;
 *   problem.num_keep = 1;
 *   const llmmem_plan *plan;
 *   char *error;
 *   if (llmmem_make_plan(&problem, NULL, &plan, &error) != LLMMEM_OK)
 *     fprintf(stderr, "%s\n", error), llmmem_free_text(error);
 *   else
 *     printf("peak %lld\n", (long long)plan->peak), llmmem_free_plan(plan);
 *
 *===----------------------------------------------------------------------===*/

#ifndef LLMMEM_C_PLANNER_H
#define LLMMEM_C_PLANNER_H

#include "llmmem-c/Base.h"

LLMMEM_C_BEGIN

/* Reads `123`, `40GB` or `37.25GiB`: GB is 10^9 and GiB is 2^30. The number is exact, and never
 * rounded up. Any other text is LLMMEM_INVALID. */
LLMMEM_C_EXPORT llmmem_result llmmem_parse_bytes(const char *text, int64_t *bytes, char **error);

/*===- Problems -----------------------------------------------------------===*/

enum { LLMMEM_NO_PHASE = 0, LLMMEM_FORWARD = 1, LLMMEM_BACKWARD = 2, LLMMEM_UPDATE = 3 };

/* Arrays that say "or NULL" may be left out.
 * Many fields: a problem is one flat struct of arrays and their lengths, as C has no lists. */
typedef struct llmmem_problem {
  size_t size;
  int64_t budget;    /* resident bytes and arena must not exceed it; 0: none is given */
  int64_t alignment; /* of offsets; 0 is 1 */

  int64_t num_values;
  const int64_t *value_bytes;     /* [num_values] */
  const uint8_t *value_resident;  /* [num_values] or NULL; 1: an input that is held throughout,
                                     outside the arena */
  const char *const *value_names; /* [num_values] or NULL; each UTF-8 or NULL; for reports */

  int64_t num_ops;
  const int64_t *op_costs;          /* [num_ops] or NULL: 0 */
  const int64_t *op_workspaces;     /* [num_ops] or NULL: 0; bytes held only while the op runs */
  const int64_t *op_reads_begin;    /* [num_ops + 1], from 0, never decreasing */
  const int32_t *op_reads;          /* values */
  const int64_t *op_writes_begin;   /* [num_ops + 1] */
  const int32_t *op_writes;         /* values; each has at most one writer */
  const int64_t *op_in_place_begin; /* [num_ops + 1], in pairs, or NULL: none */
  const int32_t
      *op_in_place; /* pairs of a value written and a value read whose bytes it may take */
  const uint8_t *op_recompute; /* [num_ops] or NULL: 1; 0: the op runs exactly once */
  const int64_t *op_blocks;    /* [num_ops] or NULL; -1: none; the layer of a transformer, say */
  const uint8_t *op_phases;    /* [num_ops] or NULL: LLMMEM_NO_PHASE */
  const char *const *op_names; /* [num_ops] or NULL */

  int64_t num_keep;
  const int32_t *keep; /* values that are held at the end */

  const int64_t *op_micro_batches; /* [num_ops] or NULL; -1: none; of several that one step runs one
                                      after another, the one that the op is of */
} llmmem_problem;

/* Returns LLMMEM_OK, or LLMMEM_INVALID with the place and the fix: an index that names no value, a
 * read before the write, two writers, negative numbers, sums of 2^63 or more. The other functions
 * check it too. */
LLMMEM_C_EXPORT llmmem_result llmmem_check_problem(const llmmem_problem *problem, char **error);

/* Gives the JSON that llmmem-plan reads; the caller frees `text` with llmmem_free_text. */
LLMMEM_C_EXPORT llmmem_result llmmem_problem_json(const llmmem_problem *problem, char **text,
                                                  char **error);

/*===- Plans --------------------------------------------------------------===*/

enum {
  LLMMEM_FEASIBLE = 0,   /* the plan fits the budget */
  LLMMEM_INFEASIBLE = 1, /* proved: no plan fits */
  LLMMEM_UNKNOWN = 2     /* none was found */
};

/* Says where a value, or the workspace of a step, is in the arena. */
typedef struct llmmem_offset {
  int32_t step;   /* that writes the value, or has the workspace; -1: the value is an input */
  int32_t value;  /* -1: a workspace */
  int64_t offset; /* bytes from the arena's start */
} llmmem_offset;

/* Many fields: a plan is one flat struct of arrays and their lengths, as C has no lists. */
typedef struct llmmem_plan {
  size_t size;
  int32_t status;
  int32_t reserved;
  int64_t num_steps;
  const int32_t *steps; /* ops in execution order; one again where it is recomputed */
  int64_t num_offsets;
  const llmmem_offset
      *offsets; /* of all values that are not resident, in the order of their steps */
  int64_t num_workspaces;
  const llmmem_offset *workspaces;
  int64_t peak;             /* largest sum of live bytes, resident ones and workspaces included */
  int64_t arena;            /* end of the highest offset; resident bytes + arena <= budget */
  int64_t cost;             /* of all steps */
  int64_t base_cost;        /* of every op once */
  int64_t cost_lower_bound; /* proved: no plan under this budget costs less */
  int64_t peak_lower_bound; /* proved: no plan at all has a lower peak */
  double seconds;           /* that planning took */
  /* Says why there is no plan; NULL where there is one that fits. */
  const char *witness;
  int64_t witness_bytes; /* least bytes known to be needed there, resident ones included */
  int32_t witness_op;    /* -1: of no one op */
  int32_t witness_proved;
} llmmem_plan;

typedef struct llmmem_plan_options {
  size_t size;
  const char *policy; /* NULL is "budget"; "least-peak" and the others of llmmem-plan --help */
  double seconds;     /* bound on the search, as a count of work; 0 is 10 */
  void *user;         /* for the two callbacks, which are called in the thread that plans */
  void (*progress)(void *user,
                   const char *activity); /* at the beginning of each activity; or NULL */
  int32_t (*is_cancelled)(
      void *user); /* every few milliseconds; 1: stop; not asked again; or NULL */
} llmmem_plan_options;

/* Plans, and verifies what was planned. Returns LLMMEM_OK also where there is no plan: the status
 * says so, with a witness. `options` may be NULL. Equal problems and options give equal plans. The
 * caller frees the plan with llmmem_free_plan. */
LLMMEM_C_EXPORT llmmem_result llmmem_make_plan(const llmmem_problem *problem,
                                               const llmmem_plan_options *options,
                                               const llmmem_plan **plan, char **error);
LLMMEM_C_EXPORT void llmmem_free_plan(const llmmem_plan *plan);

/* Gives the JSON that llmmem-plan --check reads. */
LLMMEM_C_EXPORT llmmem_result llmmem_plan_json(const llmmem_problem *problem,
                                               const llmmem_plan *plan, char **text, char **error);

/*===- Checking -----------------------------------------------------------===*/

typedef struct llmmem_violation {
  int64_t step;        /* -1: of the plan as a whole */
  const char *rule;    /* a short stable name: "overlap", "over-budget" */
  const char *message; /* for people */
} llmmem_violation;

typedef struct llmmem_violations {
  size_t size;
  int64_t count; /* 0: the plan holds */
  const llmmem_violation *items;
} llmmem_violations;

/* Checks a plan, made here or by hand, with code that shares nothing with the planner. Returns
 * LLMMEM_OK also where rules are broken. The caller frees the list with llmmem_free_violations. */
LLMMEM_C_EXPORT llmmem_result llmmem_verify_plan(const llmmem_problem *problem,
                                                 const llmmem_plan *plan,
                                                 const llmmem_violations **violations,
                                                 char **error);
LLMMEM_C_EXPORT void llmmem_free_violations(const llmmem_violations *violations);

/*===- Proofs -------------------------------------------------------------===*/

/* Does what llmmem_make_plan does, and gives what proves the plan's bounds, or that there is none:
 * the JSON of docs/Design/Proofs.md, which the caller frees with llmmem_free_text. Its ids are the
 * numbers of values and ops. */
LLMMEM_C_EXPORT llmmem_result llmmem_make_plan_with_proof(const llmmem_problem *problem,
                                                          const llmmem_plan_options *options,
                                                          const llmmem_plan **plan, char **proof,
                                                          char **error);

enum {
  LLMMEM_CHECKED = 0, /* it is true, whatever made the plan and the proof */
  LLMMEM_NOT_CHECKED =
      1,             /* the proof has no argument for it, or one that takes too long to follow */
  LLMMEM_REFUSED = 2 /* the plan or the proof is wrong */
};

typedef struct llmmem_claim {
  const char *claim; /* "plan", "cost", "peak" or "infeasible" */
  int32_t verdict;
  int32_t reserved;
  const char *message; /* what holds, or why it is not checked or refused */
} llmmem_claim;

typedef struct llmmem_claims {
  size_t size;
  int64_t count;
  const llmmem_claim *items;
} llmmem_claims;

/* Checks what a plan claims, with its proof, by code that shares nothing with the planner.
 * Returns LLMMEM_OK also where claims are refused, and LLMMEM_INVALID where `proof` is no proof.
 * The caller frees the list with llmmem_free_claims. */
LLMMEM_C_EXPORT llmmem_result llmmem_check_proof(const llmmem_problem *problem,
                                                 const llmmem_plan *plan, const char *proof,
                                                 const llmmem_claims **claims, char **error);
LLMMEM_C_EXPORT void llmmem_free_claims(const llmmem_claims *claims);

/*===- Explaining ---------------------------------------------------------===*/

/* Says what a plan did with one saved value. */
typedef struct llmmem_saved_value {
  int32_t value;
  int32_t runs; /* of its writer; 1: kept */
  int64_t bytes;
  int64_t steps_held;    /* over all of its runs */
  int64_t steps_idle;    /* kept: steps of the longest range between two uses; recomputed: steps
                            without it */
  int64_t other_cost;    /* kept: of recomputing it there; recomputed: what keeping it would save */
  int32_t can_recompute; /* kept: whether its writer may run again */
  int32_t reserved;
} llmmem_saved_value;

typedef struct llmmem_explanation {
  size_t size;
  int64_t count;
  const llmmem_saved_value *items; /* largest first */
  const char *text;                /* a line for each, for people */
} llmmem_explanation;

/* Explains why a plan keeps what it keeps. The plan must have steps and hold, else LLMMEM_INVALID.
 * The caller frees the explanation with llmmem_free_explanation. */
LLMMEM_C_EXPORT llmmem_result llmmem_explain_plan(const llmmem_problem *problem,
                                                  const llmmem_plan *plan,
                                                  const llmmem_explanation **explanation,
                                                  char **error);
LLMMEM_C_EXPORT void llmmem_free_explanation(const llmmem_explanation *explanation);

/*===- Packing alone ------------------------------------------------------===*/

typedef struct llmmem_pack_options {
  size_t size;
  int64_t alignment; /* of offsets; 0 is 1 */
  int64_t capacity;  /* the search ends where the arena is no larger; 0: none */
  double seconds;    /* of search after the heuristics, as a count of work; 0: heuristics alone */
  void *user;
  int32_t (*is_cancelled)(
      void *user); /* as in llmmem_plan_options: then the best packing so far is given */
} llmmem_pack_options;

/* Gives `count` buffers, held over positions lower[i] up to and without upper[i] and sizes[i] bytes
 * large, offsets (caller's array of `count`) at which no two held at once overlap. `arena` receives
 * the end of the highest, `lower_bound` the largest sum of live bytes; both may be NULL.
 * Many parameters: callers hand over arrays of their own, which no struct of ours would spare them.
 */
LLMMEM_C_EXPORT llmmem_result llmmem_pack(int64_t count, const int64_t *lower, const int64_t *upper,
                                          const int64_t *sizes, const llmmem_pack_options *options,
                                          int64_t *offsets, int64_t *arena, int64_t *lower_bound,
                                          char **error);

LLMMEM_C_END

#endif /* LLMMEM_C_PLANNER_H */
