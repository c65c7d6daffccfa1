/* Plans with a host in C, and every error of include/llmmem-c/HostCopies.h. Prints the number of
 * checks; exits 1 with the line of the first that fails. */

#include "check.h"
#include "llmmem-c/HostCopies.h"

#define WORKS(call)                                                                                \
  do {                                                                                             \
    char *message = NULL, **error = &message;                                                      \
    llmmem_result got = (call);                                                                    \
    if (got != LLMMEM_OK)                                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, message), exit(1);                        \
    CHECK(message == NULL);                                                                        \
  } while (0)

/* Three ops of a forward and three of its backward, each of which reads what the forward wrote. 100
 * bytes each; ops take 50 and 100 ns. */
static int64_t bytes[] = {0, 100, 100, 100, 100, 100, 100}, costs[] = {50, 50, 50, 100, 100, 100},
               reads_begin[] = {0, 1, 2, 3, 4, 6, 8}, writes_begin[] = {0, 1, 2, 3, 4, 5, 6};
static int32_t reads[] = {0, 1, 2, 3, 4, 2, 5, 1}, writes[] = {1, 2, 3, 4, 5, 6}, keep[] = {6};
static uint8_t first_alone[] = {0, 1, 0, 0, 0, 0, 0};

static llmmem_problem step(int64_t budget) {
  llmmem_problem problem = LLMMEM_INIT(llmmem_problem);
  problem.budget = budget;
  problem.num_values = 7;
  problem.value_bytes = bytes;
  problem.num_ops = 6;
  problem.op_costs = costs;
  problem.op_reads_begin = reads_begin;
  problem.op_reads = reads;
  problem.op_writes_begin = writes_begin;
  problem.op_writes = writes;
  problem.num_keep = 1;
  problem.keep = keep;
  return problem;
}

/* 100 bytes take 25 ns each way. */
static llmmem_host host(int64_t budget) {
  llmmem_host made = LLMMEM_INIT(llmmem_host);
  made.budget = budget;
  WORKS(llmmem_parse_link("4GB/s", &made, error));
  return made;
}

static void links(void) {
  llmmem_host made = LLMMEM_INIT(llmmem_host);
  WORKS(llmmem_parse_link("25GB/s,20GB/s", &made, error));
  CHECK(made.to_host == 25000000000 && made.to_device == 20000000000);
  FAILS(LLMMEM_INVALID, "'fast' is not a rate of a link", llmmem_parse_link("fast", &made, error));
  FAILS(LLMMEM_INVALID, "text: is NULL", llmmem_parse_link(NULL, &made, error));
  FAILS(LLMMEM_INVALID, "host: is NULL", llmmem_parse_link("25GB/s", NULL, error));
  CHECK(made.to_host == 25000000000);
}

/* Says whether the plan copies `value`, and that its steps and offsets name copies that exist. */
static int leaves(const llmmem_plan *plan, const llmmem_host_plan *copies, int32_t value) {
  int found = 0;
  for (int64_t i = 0; i < plan->num_steps; ++i) {
    const int64_t place = plan->steps[i] - 6;
    CHECK(place < copies->num_copies);
    found |= place >= 0 && copies->copies[place].value == value;
  }
  for (int64_t i = 0; i < plan->num_offsets; ++i)
    CHECK(plan->offsets[i].value < 7 + copies->num_copies / 2);
  return found;
}

static void planning(void) {
  const llmmem_plan *plan = NULL, *alone = NULL;
  const llmmem_host_plan *copies = NULL;
  llmmem_problem problem = step(300);
  llmmem_host large = host(1000);
  WORKS(llmmem_make_plan_with_host(&problem, &large, NULL, &plan, &copies, error));
  WORKS(llmmem_make_plan(&problem, NULL, &alone, error));
  CHECK(plan->status == LLMMEM_FEASIBLE && plan->peak <= 300 && leaves(plan, copies, 1));
  CHECK(copies->base_time == 450 && copies->time >= 450 && copies->time < alone->cost);
  CHECK(copies->time_lower_bound <= copies->time && copies->peak >= 100 && copies->arena <= 1000);
  CHECK(copies->num_copies == 4 && copies->copies[0].cost == 25);
  CHECK(copies->copies[0].to_host == 1 && copies->copies[1].to_host == 0);
  CHECK(copies->copies[0].host_value == 7 && copies->copies[1].host_value == 7);

  const llmmem_violations *violations = NULL;
  WORKS(llmmem_verify_plan_with_host(&problem, &large, plan, copies, &violations, error));
  CHECK(violations->count == 0);
  llmmem_free_violations(violations);
  llmmem_host_plan wrong = *copies;
  wrong.time -= 1;
  WORKS(llmmem_verify_plan_with_host(&problem, &large, plan, &wrong, &violations, error));
  CHECK(violations->count == 1 && !strcmp(violations->items[0].rule, "time"));
  llmmem_free_violations(violations);
  llmmem_free_plan(alone);
  llmmem_free_plan(plan);
  llmmem_free_host_plan(copies);

  large.may_leave = first_alone;
  WORKS(llmmem_make_plan_with_host(&problem, &large, NULL, &plan, &copies, error));
  CHECK(copies->num_copies == 2 && copies->copies[0].value == 1);
  llmmem_free_plan(plan);
  llmmem_free_host_plan(copies);
}

static void errors(void) {
  const llmmem_plan *plan = NULL;
  const llmmem_host_plan *copies = NULL, none = LLMMEM_INIT(llmmem_host_plan);
  const llmmem_violations *violations = NULL;
  llmmem_problem problem = step(300), broken = step(-1);
  llmmem_host large = host(1000), small = host(99), empty = host(0), still = host(1000);
  still.to_device = 0;
#define PLAN(problem, host) llmmem_make_plan_with_host(problem, host, NULL, &plan, &copies, error)
  FAILS(LLMMEM_INVALID, "budget: must not be negative", PLAN(&broken, &large));
  FAILS(LLMMEM_INVALID, "problem: is NULL", PLAN(NULL, &large));
  FAILS(LLMMEM_INVALID, "host: is NULL", PLAN(&problem, NULL));
  FAILS(LLMMEM_INVALID, "host: budget: is 0", PLAN(&problem, &empty));
  FAILS(LLMMEM_INVALID, "the smallest has 100 bytes", PLAN(&problem, &small));
  FAILS(LLMMEM_INVALID, "at least 1 byte per second", PLAN(&problem, &still));
  CHECK(plan == NULL && copies == NULL);
  FAILS(LLMMEM_INVALID, "host_plan: is NULL",
        llmmem_make_plan_with_host(&problem, &large, NULL, &plan, NULL, error));
  FAILS(LLMMEM_INVALID, "plan: is NULL",
        llmmem_make_plan_with_host(&problem, &large, NULL, NULL, &copies, error));
  CHECK(copies == NULL);
  WORKS(PLAN(&problem, &large));
  FAILS(LLMMEM_INVALID, "host_plan: is NULL",
        llmmem_verify_plan_with_host(&problem, &large, plan, NULL, &violations, error));
  FAILS(LLMMEM_INVALID, "plan: is NULL",
        llmmem_verify_plan_with_host(&problem, &large, NULL, &none, &violations, error));
  FAILS(LLMMEM_INVALID, "violations: is NULL",
        llmmem_verify_plan_with_host(&problem, &large, plan, copies, NULL, error));
  llmmem_free_plan(plan);
  llmmem_free_host_plan(copies);
  llmmem_free_host_plan(NULL);
}

int main(void) {
  links();
  planning();
  errors();
  printf("%d checks\n", checks);
  return 0;
}
