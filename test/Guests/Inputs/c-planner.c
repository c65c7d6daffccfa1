/* Every error of include/llmmem-c/Planner.h and Forms.h, and what it gives where there is none.
 * Prints the number of checks; exits 1 with the line of the first that fails. */

#include "check.h"
#include "llmmem-c/Forms.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKS(call)                                                                                \
  do {                                                                                             \
    char *message = (char *)"unset", **error = &message;                                           \
    llmmem_result got = (call);                                                                    \
    if (got != LLMMEM_OK)                                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, message), exit(1);                        \
    CHECK(message == NULL);                                                                        \
  } while (0)

/* x -> up -> wide -> down -> y; back reads y and wide; keep what it writes. */
static int64_t bytes[] = {1000, 4000, 1000, 1000}, costs[] = {10, 30, 50}, begin[] = {0, 1, 2, 4},
               ones[] = {0, 1, 2, 3}, blocks[] = {0, -1, 0}, workspaces[] = {0, 8, 0};
static int32_t reads[] = {0, 1, 2, 1}, writes[] = {1, 2, 3}, keep[] = {3};
static uint8_t phases[] = {LLMMEM_FORWARD, LLMMEM_FORWARD, LLMMEM_BACKWARD}, resident[4],
               recompute[] = {1, 1, 0};
static int64_t micro_batches[] = {0, -1, 1}, wrong_micro_batches[] = {0, -2, 0};
static const char *value_names[] = {"x", "wide", NULL, "dx"}, *op_names[] = {"up", NULL, "back"};

static llmmem_problem step(void) {
  llmmem_problem problem = LLMMEM_INIT(llmmem_problem);
  problem.num_values = 4;
  problem.value_bytes = bytes;
  problem.value_resident = resident;
  problem.value_names = value_names;
  problem.num_ops = 3;
  problem.op_costs = costs;
  problem.op_workspaces = workspaces;
  problem.op_reads_begin = begin;
  problem.op_reads = reads;
  problem.op_writes_begin = ones;
  problem.op_writes = writes;
  problem.op_recompute = recompute;
  problem.op_blocks = blocks;
  problem.op_phases = phases;
  problem.op_names = op_names;
  problem.num_keep = 1;
  problem.keep = keep;
  return problem;
}

/* The problem of step() with one change is refused with a message that contains `text`. */
#define REFUSED(text, change)                                                                      \
  do {                                                                                             \
    llmmem_problem problem = step();                                                               \
    change;                                                                                        \
    FAILS(LLMMEM_INVALID, text, llmmem_check_problem(&problem, error));                            \
  } while (0)

static void wrong_problems(void) {
  FAILS(LLMMEM_INVALID, "problem: is NULL", llmmem_check_problem(NULL, error));
  REFUSED("problem: size is 0; initialise it with LLMMEM_INIT", problem.size = 0);
  REFUSED("budget: must not be negative", problem.budget = -1);
  REFUSED("alignment: must not be negative", problem.alignment = -1);
  REFUSED("num_values: is -1", problem.num_values = -1);
  REFUSED("num_ops: is 2147483647", problem.num_ops = INT32_MAX);
  REFUSED("num_keep: is -5", problem.num_keep = -5);
  REFUSED("op_micro_batches[1]: must be -1 or a number from 0 up",
          problem.op_micro_batches = wrong_micro_batches);
  REFUSED("value_bytes: is NULL", problem.value_bytes = NULL);
  REFUSED("op_reads_begin: is NULL", problem.op_reads_begin = NULL);
  REFUSED("op_reads: is NULL", problem.op_reads = NULL);
  REFUSED("op_writes_begin: is NULL", problem.op_writes_begin = NULL);
  REFUSED("op_writes: is NULL", problem.op_writes = NULL);
  REFUSED("op_in_place: is NULL", problem.op_in_place_begin = ones);
  REFUSED("keep: is NULL", problem.keep = NULL);

  int64_t late[] = {1, 1, 2, 4}, falling[] = {0, 2, 1, 4}, negative[] = {1, 2, -3, 4},
          huge[] = {INT64_MAX, INT64_MAX, 1, 1}, low[] = {0, -2, 0};
  REFUSED("op_reads_begin[0]: is 1; expected 0", problem.op_reads_begin = late);
  REFUSED("op_reads_begin[2]: is less than the one before", problem.op_reads_begin = falling);
  REFUSED("values[2]: id and bytes must not be negative", problem.value_bytes = negative);
  REFUSED("ops[2] 'back': id, cost", problem.op_costs = negative);
  REFUSED("must not be negative", problem.op_workspaces = negative);
  REFUSED("add up to 2^63 or more", problem.value_bytes = huge);
  REFUSED("costs add up to 2^63 or more", problem.op_costs = huge);
  REFUSED("op_blocks[1]: must be -1 or a number", problem.op_blocks = low);

  uint8_t no_phase[] = {1, 1, 9}, held[] = {0, 1, 0, 0};
  REFUSED("op_phases[2]: expected LLMMEM_NO_PHASE", problem.op_phases = no_phase);
  REFUSED("value 1 is resident, which only inputs may be", problem.value_resident = held);

  int32_t none[] = {0, 4, 2, 1}, minus[] = {-1, 2, 3}, twice[] = {1, 1, 3}, early[] = {2, 1, 2, 1},
          pairs[] = {1, 2, 3}, two[] = {1, 2};
  REFUSED("names no value", problem.op_reads = none);
  REFUSED("names no value", problem.op_writes = minus);
  REFUSED("a value has one writer", problem.op_writes = twice);
  REFUSED("before ops[1]", problem.op_reads = early);
  REFUSED("keep: names no value", problem.keep = none + 1);
  REFUSED("op 0 has half a pair", problem.op_in_place_begin = ones; problem.op_in_place = pairs);
  int64_t one_pair[] = {0, 2, 2, 2};
  REFUSED("must be a value that the op reads", problem.op_in_place_begin = one_pair;
          problem.op_in_place = two);
}

static void sizes(void) {
  int64_t bytes = 0;
  WORKS(llmmem_parse_bytes("37.25GiB", &bytes, error));
  CHECK(bytes == 39996882944);
  FAILS(LLMMEM_INVALID, "'4QB' is not a size in bytes", llmmem_parse_bytes("4QB", &bytes, error));
  FAILS(LLMMEM_INVALID, "text: is NULL", llmmem_parse_bytes(NULL, &bytes, error));
  FAILS(LLMMEM_INVALID, "bytes: is NULL", llmmem_parse_bytes("4GB", NULL, error));
}

/* A newer program has larger structures. What it leaves zero changes nothing. */
static void newer_programs(void) {
  struct {
    llmmem_problem known;
    int64_t unknown;
  } newer = {step(), 0};
  newer.known.size = sizeof(newer);
  WORKS(llmmem_check_problem(&newer.known, error));
  newer.unknown = 1;
  FAILS(LLMMEM_INVALID, "problem: asks for what llmmem 0.2.0 does not know",
        llmmem_check_problem(&newer.known, error));
  CHECK(strcmp(llmmem_version(), "0.2.0") == 0);
}

static void newer_options(void) {
  llmmem_problem problem = step();
  const llmmem_plan *plan = NULL;
  struct {
    llmmem_plan_options known;
    int64_t unknown;
  } newer = {LLMMEM_INIT(llmmem_plan_options), 1};
  newer.known.size = sizeof(newer);
  FAILS(LLMMEM_INVALID, "options: asks for what llmmem 0.2.0 does not know",
        llmmem_make_plan(&problem, &newer.known, &plan, error));
}

static int activities;
static void count_activity(void *user, const char *activity) {
  CHECK(user == &activities && activity[0]);
  ++activities;
}
static int32_t at_once(void *user) { return ++*(int *)user, 1; }

static void planning(void) {
  llmmem_problem problem = step();
  llmmem_plan_options options = LLMMEM_INIT(llmmem_plan_options);
  const llmmem_plan *plan = NULL;
  FAILS(LLMMEM_INVALID, "plan: is NULL", llmmem_make_plan(&problem, NULL, NULL, error));
  FAILS(LLMMEM_INVALID, "problem: is NULL", llmmem_make_plan(NULL, NULL, &plan, error));
  options.size = 3;
  FAILS(LLMMEM_INVALID, "options: size is 3", llmmem_make_plan(&problem, &options, &plan, error));
  options.size = sizeof(options);
  options.policy = "best";
  FAILS(LLMMEM_INVALID, "policy: unknown policy 'best': expected none, every=K",
        llmmem_make_plan(&problem, &options, &plan, error));
  options.policy = "every=0";
  FAILS(LLMMEM_INVALID, "K at least 1", llmmem_make_plan(&problem, &options, &plan, error));
  options.policy = NULL;
  for (int i = 0; i < 2; ++i) {
    options.seconds = i ? NAN : -1;
    FAILS(LLMMEM_INVALID, "seconds: expected", llmmem_make_plan(&problem, &options, &plan, error));
  }
  options.seconds = 1;
  int asked = 0;
  options.user = &asked;
  options.is_cancelled = at_once;
  FAILS(LLMMEM_CANCELLED, "cancelled", llmmem_make_plan(&problem, &options, &plan, error));
  CHECK(asked == 2 && plan == NULL);
  options.is_cancelled = NULL;
  options.user = &activities;
  options.progress = count_activity;
  WORKS(llmmem_make_plan(&problem, &options, &plan, error));
  CHECK(activities > 0 && plan->size == sizeof(*plan) && plan->status == LLMMEM_FEASIBLE);
  CHECK(plan->num_steps == 3 && plan->peak == 6000 && plan->cost == 90 && plan->witness == NULL);
  CHECK(plan->num_offsets == 4 && plan->offsets[0].step == -1 && plan->num_workspaces == 1);
  llmmem_free_plan(plan);

  problem.budget = 5999;
  WORKS(llmmem_make_plan(&problem, NULL, &plan, error));
  CHECK(plan->status == LLMMEM_INFEASIBLE && plan->num_steps == 0);
  CHECK(plan->witness && plan->witness_proved && plan->witness_bytes == 6000);
  const llmmem_violations *violations = NULL;
  WORKS(llmmem_verify_plan(&problem, plan, &violations, error));
  CHECK(violations->count == 0);
  llmmem_free_violations(violations);
  const llmmem_explanation *explanation = NULL;
  FAILS(LLMMEM_INVALID, "plan: has no steps to explain",
        llmmem_explain_plan(&problem, plan, &explanation, error));
  llmmem_free_plan(plan);
}

static void texts(void) {
  llmmem_problem problem = step(), wrong = step();
  wrong.num_ops = -1;
  char *text = NULL;
  FAILS(LLMMEM_INVALID, "text: is NULL", llmmem_problem_json(&problem, NULL, error));
  FAILS(LLMMEM_INVALID, "num_ops", llmmem_problem_json(&wrong, &text, error));
  WORKS(llmmem_problem_json(&problem, &text, error));
  CHECK(strstr(text, "\"format\": \"llmmem-problem\"") && strstr(text, "\"name\": \"wide\""));
  CHECK(strstr(text, "micro_batch") == NULL);
  llmmem_free_text(text);
  problem.op_micro_batches = micro_batches;
  WORKS(llmmem_problem_json(&problem, &text, error));
  CHECK(strstr(text, "\"micro_batch\": 1") != NULL);
  llmmem_free_text(text);
  const llmmem_plan *plan = NULL;
  WORKS(llmmem_make_plan(&problem, NULL, &plan, error));
  FAILS(LLMMEM_INVALID, "text: is NULL", llmmem_plan_json(&problem, plan, NULL, error));
  FAILS(LLMMEM_INVALID, "num_ops", llmmem_plan_json(&wrong, plan, &text, error));
  WORKS(llmmem_plan_json(&problem, plan, &text, error));
  CHECK(strstr(text, "\"steps\": [0, 1, 2]") != NULL);
  llmmem_free_text(text);
  llmmem_free_plan(plan);
}

/* The verdict on one claim; -1 where there is no such claim. */
static int32_t verdict_of(const char *claim, const llmmem_problem *problem, const llmmem_plan *plan,
                          const char *proof) {
  const llmmem_claims *claims = NULL;
  WORKS(llmmem_check_proof(problem, plan, proof, &claims, error));
  int32_t verdict = -1;
  for (int64_t i = 0; i < claims->count; ++i)
    if (!strcmp(claims->items[i].claim, claim) && claims->items[i].message[0])
      verdict = claims->items[i].verdict;
  llmmem_free_claims(claims);
  return verdict;
}

/* down in one piece with a workspace of 3000, or in parts for a cost of 35. */
static int32_t tiled[] = {1};
static int64_t tiled_costs[] = {30, 35}, tiled_workspaces[] = {3000, 8};

static llmmem_form tilings_of(const llmmem_problem *problem) {
  llmmem_form form = LLMMEM_INIT(llmmem_form);
  form.problem = problem;
  form.num_tilings = 2;
  form.num_tiled_ops = 1;
  form.tiled_ops = tiled;
  form.tiled_costs = tiled_costs;
  form.tiled_workspaces = tiled_workspaces;
  return form;
}

/* The forms of the step with one change are refused with a message that contains `text`. */
#define FORMS_REFUSED(text, change)                                                                \
  do {                                                                                             \
    llmmem_problem problem = step();                                                               \
    llmmem_form form = tilings_of(&problem);                                                       \
    const llmmem_form *list[] = {&form, NULL};                                                     \
    llmmem_forms forms = LLMMEM_INIT(llmmem_forms);                                                \
    forms.num_forms = 1;                                                                           \
    forms.forms = list;                                                                            \
    change;                                                                                        \
    const llmmem_plan *plan = NULL;                                                                \
    llmmem_form_number chosen;                                                                     \
    FAILS(LLMMEM_INVALID, text,                                                                    \
          llmmem_make_plan_of_forms(&forms, NULL, &plan, &chosen, NULL, error));                   \
    CHECK(plan == NULL);                                                                           \
  } while (0)

static void wrong_forms(void) {
  FORMS_REFUSED("forms: size is 0", forms.size = 0);
  FORMS_REFUSED("num_forms: is 0; expected 1", forms.num_forms = 0);
  FORMS_REFUSED("forms: is NULL", forms.forms = NULL);
  FORMS_REFUSED("choice: expected LLMMEM_CHOOSE_BY_PLAN", forms.choice = 2);
  FORMS_REFUSED("forms[0]: form: is NULL", list[0] = NULL);
  FORMS_REFUSED("forms[0]: problem: is NULL", form.problem = NULL);
  FORMS_REFUSED("forms[0]: num_tilings: is -1", form.num_tilings = -1);
  FORMS_REFUSED("forms[0]: num_tiled_ops: is -1", form.num_tiled_ops = -1);
  FORMS_REFUSED("forms[0]: tiled_ops: is NULL", form.tiled_ops = NULL);
  FORMS_REFUSED("forms[0]: tiled_costs: is NULL", form.tiled_costs = NULL);
  FORMS_REFUSED("forms[0]: tiled_workspaces: is NULL", form.tiled_workspaces = NULL);
  int32_t three[] = {3}, twice[] = {1, 1};
  int64_t dear[] = {35, 30}, growing[] = {8, 3000}, four[] = {1, 1, 1, 1};
  FORMS_REFUSED("forms[0]: tiled_ops[0]: is 3; expected the number of an op",
                form.tiled_ops = three);
  FORMS_REFUSED("forms[0]: num_selected: is -1", form.num_selected = -1);
  FORMS_REFUSED("forms[0]: selected: is NULL", form.num_selected = 1);
  FORMS_REFUSED("forms[0]: selected[0]: is 3; expected the number of an op", form.num_selected = 1;
                form.selected = three);
  FORMS_REFUSED("forms[0]: tilings must come with the cheapest first", form.tiled_costs = dear);
  FORMS_REFUSED("forms[0]: tilings must come with the largest workspaces first",
                form.tiled_workspaces = growing);
  FORMS_REFUSED("forms[0]: a tiling names an op twice", form.num_tiled_ops = 2;
                form.tiled_ops = twice; form.tiled_costs = form.tiled_workspaces = four);
  llmmem_problem other = step();
  other.budget = 7000;
  llmmem_form more = tilings_of(&other);
  FORMS_REFUSED("forms[1]: problem: its budget is not that of forms[0]", list[1] = &more;
                forms.num_forms = 2);
  other = step();
  other.alignment = 64;
  FORMS_REFUSED("forms[1]: problem: its alignment is not that of forms[0]", list[1] = &more;
                forms.num_forms = 2);
}

/* Under 7000 bytes the tiling in parts, under 9000 the other; a form of cheaper ops before both. */
static void forms(void) {
  int64_t cheaper[] = {10, 25, 50};
  for (int budget = 7000; budget <= 9000; budget += 2000)
    for (int count = 1; count <= 2; ++count) {
      llmmem_problem problem = step(), other = step();
      problem.budget = other.budget = budget;
      other.op_costs = cheaper;
      llmmem_form form = tilings_of(&problem), second = LLMMEM_INIT(llmmem_form);
      second.problem = &other;
      const llmmem_form *list[] = {&form, &second};
      llmmem_forms all = LLMMEM_INIT(llmmem_forms);
      all.num_forms = count;
      all.forms = list;
      const llmmem_plan *plan = NULL;
      llmmem_form_number chosen = {-1, -1};
      char *proof = NULL, *text = NULL;
      WORKS(llmmem_make_plan_of_forms(&all, NULL, &plan, &chosen, &proof, error));
      CHECK(chosen.form == count - 1 && chosen.tiling == (count == 1 && budget == 7000));
      CHECK(plan->status == LLMMEM_FEASIBLE && plan->cost == (count == 2      ? 85
                                                              : chosen.tiling ? 95
                                                                              : 90));
      const llmmem_problem *planned = NULL;
      WORKS(llmmem_problem_of_form(&all, chosen, &planned, error));
      CHECK(planned->op_workspaces[1] == (count == 2 || chosen.tiling ? 8 : 3000));
      CHECK(verdict_of("plan", planned, plan, proof) == LLMMEM_CHECKED);
      CHECK(verdict_of("cost", planned, plan, proof) == LLMMEM_CHECKED);
      llmmem_free_problem(planned);
      WORKS(llmmem_forms_json(&all, &text, error));
      CHECK(strstr(text, "\"tilings\"") != NULL);
      llmmem_free_text(text);
      FAILS(LLMMEM_INVALID, "number: there is no form 2",
            llmmem_problem_of_form(&all, (llmmem_form_number){2, 0}, &planned, error));
      FAILS(LLMMEM_INVALID, "text: is NULL", llmmem_forms_json(&all, NULL, error));
      FAILS(LLMMEM_INVALID, "problem: is NULL", llmmem_problem_of_form(&all, chosen, NULL, error));
      FAILS(LLMMEM_INVALID, "chosen: is NULL",
            llmmem_make_plan_of_forms(&all, NULL, &plan, NULL, NULL, error));
      FAILS(LLMMEM_INVALID, "plan: is NULL",
            llmmem_make_plan_of_forms(&all, NULL, NULL, &chosen, NULL, error));
      llmmem_free_text(proof);
      llmmem_free_plan(plan);
    }
}

/* The ops that the policy "selective" recomputes: `up` runs again, for 10 more. */
static void selected_ops(void) {
  int32_t up[] = {0};
  llmmem_problem problem = step();
  llmmem_form form = LLMMEM_INIT(llmmem_form);
  form.problem = &problem;
  const llmmem_form *list[] = {&form};
  llmmem_forms all = LLMMEM_INIT(llmmem_forms);
  all.num_forms = 1;
  all.forms = list;
  llmmem_plan_options options = LLMMEM_INIT(llmmem_plan_options);
  options.policy = "selective";
  for (int64_t count = 0; count <= 1; ++count) {
    form.num_selected = count;
    form.selected = up;
    const llmmem_plan *plan = NULL;
    llmmem_form_number chosen;
    WORKS(llmmem_make_plan_of_forms(&all, &options, &plan, &chosen, NULL, error));
    CHECK(plan->num_steps == 3 + count && plan->cost == 90 + 10 * count);
    llmmem_free_plan(plan);
  }
  char *text = NULL;
  WORKS(llmmem_forms_json(&all, &text, error));
  CHECK(strstr(text, "\"selected\": [0]") != NULL);
  llmmem_free_text(text);
}

static void proofs(void) {
  llmmem_problem problem = step();
  const llmmem_plan *plan = NULL;
  char *proof = NULL;
  const llmmem_claims *claims = NULL;
  FAILS(LLMMEM_INVALID, "proof: is NULL",
        llmmem_make_plan_with_proof(&problem, NULL, &plan, NULL, error));
  FAILS(LLMMEM_INVALID, "plan: is NULL",
        llmmem_make_plan_with_proof(&problem, NULL, NULL, &proof, error));
  WORKS(llmmem_make_plan_with_proof(&problem, NULL, &plan, &proof, error));
  CHECK(strstr(proof, "\"format\": \"llmmem-proof\"") != NULL);
  CHECK(verdict_of("plan", &problem, plan, proof) == LLMMEM_CHECKED);
  CHECK(verdict_of("cost", &problem, plan, proof) == LLMMEM_CHECKED);
  CHECK(verdict_of("peak", &problem, plan, proof) == LLMMEM_CHECKED);
  CHECK(verdict_of("infeasible", &problem, plan, proof) == -1);
  llmmem_plan lie = *plan;
  lie.peak -= 1;
  CHECK(verdict_of("plan", &problem, &lie, proof) == LLMMEM_REFUSED);
  FAILS(LLMMEM_INVALID, "claims: is NULL", llmmem_check_proof(&problem, plan, proof, NULL, error));
  FAILS(LLMMEM_INVALID, "proof: is NULL", llmmem_check_proof(&problem, plan, NULL, &claims, error));
  FAILS(LLMMEM_INVALID, "proof: line 1", llmmem_check_proof(&problem, plan, "{", &claims, error));
  FAILS(LLMMEM_INVALID, "plan: is NULL", llmmem_check_proof(&problem, NULL, proof, &claims, error));
  llmmem_free_text(proof);
  llmmem_free_plan(plan);

  problem.budget = 1000;
  WORKS(llmmem_make_plan_with_proof(&problem, NULL, &plan, &proof, error));
  CHECK(plan->status == LLMMEM_INFEASIBLE);
  CHECK(verdict_of("infeasible", &problem, plan, proof) == LLMMEM_CHECKED);
  llmmem_free_text(proof);
  llmmem_free_plan(plan);
}

static void expect_violation(const llmmem_problem *problem, const llmmem_plan *plan,
                             const char *rule) {
  const llmmem_violations *violations = NULL;
  WORKS(llmmem_verify_plan(problem, plan, &violations, error));
  int found = 0;
  for (int64_t i = 0; i < violations->count; ++i)
    found |= !strcmp(violations->items[i].rule, rule) && violations->items[i].message[0];
  CHECK(found);
  llmmem_free_violations(violations);
  const llmmem_explanation *explanation = NULL;
  FAILS(LLMMEM_INVALID, "plan: ", llmmem_explain_plan(problem, plan, &explanation, error));
}

static void checking(void) {
  llmmem_problem problem = step();
  const llmmem_plan *made = NULL;
  WORKS(llmmem_make_plan(&problem, NULL, &made, error));
  const llmmem_violations *violations = NULL;
  FAILS(LLMMEM_INVALID, "violations: is NULL", llmmem_verify_plan(&problem, made, NULL, error));
  FAILS(LLMMEM_INVALID, "plan: is NULL", llmmem_verify_plan(&problem, NULL, &violations, error));
  FAILS(LLMMEM_INVALID, "problem: is", llmmem_verify_plan(NULL, made, &violations, error));

#define WRONG_PLAN(text, change)                                                                   \
  do {                                                                                             \
    llmmem_plan plan = *made;                                                                      \
    change;                                                                                        \
    FAILS(LLMMEM_INVALID, text, llmmem_verify_plan(&problem, &plan, &violations, error));          \
  } while (0)
  WRONG_PLAN("plan: size is 1", plan.size = 1);
  WRONG_PLAN("status: expected LLMMEM_FEASIBLE", plan.status = 3);
  WRONG_PLAN("num_steps: is -1", plan.num_steps = -1);
  WRONG_PLAN("steps: is NULL", plan.steps = NULL);
  WRONG_PLAN("offsets: is NULL", plan.offsets = NULL);
  WRONG_PLAN("num_workspaces: is 4294967296", plan.num_workspaces = (int64_t)1 << 32);

  int32_t strange[] = {0, 77, -9};
  llmmem_offset together[4];
  memcpy(together, made->offsets, sizeof(together));
  for (int i = 0; i < 4; ++i)
    together[i].offset = 0;
  llmmem_plan plan = *made;
  plan.cost += 1;
  expect_violation(&problem, &plan, "cost");
  plan = *made;
  plan.steps = strange;
  expect_violation(&problem, &plan, "unknown-op");
  plan = *made;
  plan.offsets = together;
  expect_violation(&problem, &plan, "overlap");
  plan = *made;
  plan.status = LLMMEM_UNKNOWN;
  plan.witness = "because";
  plan.witness_op = 5000;
  expect_violation(&problem, &plan, "witness");

  const llmmem_explanation *explanation = NULL;
  FAILS(LLMMEM_INVALID, "explanation: is NULL", llmmem_explain_plan(&problem, made, NULL, error));
  FAILS(LLMMEM_INVALID, "plan: is NULL", llmmem_explain_plan(&problem, NULL, &explanation, error));
  WORKS(llmmem_explain_plan(&problem, made, &explanation, error));
  CHECK(explanation->count == 2 && explanation->items[0].value == 1);
  CHECK(explanation->items[0].runs == 1 && explanation->items[0].can_recompute == 1);
  CHECK(strstr(explanation->text, "wide (4.00 kB): kept") != NULL);
  llmmem_free_explanation(explanation);
  llmmem_free_plan(made);
}

static void packing(void) {
  int64_t lower[] = {0, 1, 2}, upper[] = {2, 3, 4}, sizes[] = {4, 4, 4}, offsets[3], arena, bound;
  int64_t empty[] = {2, 1, 4}, negative[] = {4, -4, 4}, huge[] = {INT64_MAX, 4, 4};
  llmmem_pack_options options = LLMMEM_INIT(llmmem_pack_options);
#define PACK(count, lower, upper, sizes, options, offsets)                                         \
  llmmem_pack(count, lower, upper, sizes, options, offsets, &arena, &bound, error)
  FAILS(LLMMEM_INVALID, "count: is -1", PACK(-1, lower, upper, sizes, NULL, offsets));
  FAILS(LLMMEM_INVALID, "lower: is NULL", PACK(3, NULL, upper, sizes, NULL, offsets));
  FAILS(LLMMEM_INVALID, "upper: is NULL", PACK(3, lower, NULL, sizes, NULL, offsets));
  FAILS(LLMMEM_INVALID, "sizes: is NULL", PACK(3, lower, upper, NULL, NULL, offsets));
  FAILS(LLMMEM_INVALID, "offsets: is NULL", PACK(3, lower, upper, sizes, NULL, NULL));
  FAILS(LLMMEM_INVALID, "upper[1]: must be larger", PACK(3, lower, empty, sizes, NULL, offsets));
  FAILS(LLMMEM_INVALID, "sizes[1]: must not", PACK(3, lower, upper, negative, NULL, offsets));
  FAILS(LLMMEM_INVALID, "2^63 or more", PACK(3, lower, upper, huge, NULL, offsets));
  options.alignment = -1;
  FAILS(LLMMEM_INVALID, "alignment", PACK(3, lower, upper, sizes, &options, offsets));
  options.alignment = 0;
  options.capacity = -1;
  FAILS(LLMMEM_INVALID, "capacity", PACK(3, lower, upper, sizes, &options, offsets));
  options.capacity = 0;
  options.seconds = NAN;
  FAILS(LLMMEM_INVALID, "seconds", PACK(3, lower, upper, sizes, &options, offsets));
  options.seconds = 1;
  options.size = 0;
  FAILS(LLMMEM_INVALID, "options: size is 0", PACK(3, lower, upper, sizes, &options, offsets));
  options.size = sizeof(options);
  WORKS(PACK(0, NULL, NULL, NULL, NULL, NULL));
  CHECK(arena == 0 && bound == 0);
  WORKS(PACK(3, lower, upper, sizes, &options, offsets));
  CHECK(arena == 8 && bound == 8 && offsets[0] != offsets[1] && offsets[1] != offsets[2]);
  WORKS(llmmem_pack(3, lower, upper, sizes, NULL, offsets, NULL, NULL, error));

  int64_t from[300], to[300], size[300], place[300];
  for (int64_t i = 0; i < 300; ++i)
    from[i] = i * 37 % 200, to[i] = from[i] + 5 + i * 53 % 90, size[i] = 100 + i * 71 % 900;
  int asked = 0;
  options.seconds = 1e6; /* days, were it not cancelled */
  options.user = &asked;
  options.is_cancelled = at_once;
  WORKS(PACK(300, from, to, size, &options, place));
  CHECK(asked == 1 && arena > bound);
}

/* One problem in four threads at once: four equal plans. */
static void *plan_in_thread(void *text) {
  llmmem_problem problem = step();
  problem.budget = 8000;
  for (int i = 0; i < 25; ++i) {
    const llmmem_plan *plan = NULL;
    char *error = NULL;
    if (llmmem_make_plan(&problem, NULL, &plan, &error) != LLMMEM_OK)
      return error;
    snprintf(text, 100, "%d %lld %lld", plan->status, (long long)plan->arena,
             (long long)plan->cost_lower_bound);
    llmmem_free_plan(plan);
  }
  return NULL;
}

static void threads(void) {
  pthread_t thread[4];
  char text[4][100];
  for (int i = 0; i < 4; ++i)
    CHECK(pthread_create(&thread[i], NULL, plan_in_thread, text[i]) == 0);
  for (int i = 0; i < 4; ++i) {
    void *error;
    pthread_join(thread[i], &error);
    CHECK(error == NULL && !strcmp(text[i], text[0]));
  }
}

int main(void) {
  sizes();
  wrong_problems();
  newer_programs();
  newer_options();
  planning();
  texts();
  proofs();
  wrong_forms();
  forms();
  selected_ops();
  checking();
  packing();
  threads();
  llmmem_free_text(NULL);
  llmmem_free_plan(NULL);
  llmmem_free_problem(NULL);
  llmmem_free_violations(NULL);
  llmmem_free_explanation(NULL);
  printf("%d checks\n", checks);
  return 0;
}
