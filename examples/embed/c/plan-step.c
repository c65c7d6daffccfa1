/*===- plan-step.c - A training step of eight layers, planned in C -----------===*
 *
 * Fills the arrays of a problem, plans it under 60 % of the bytes that it takes without a budget,
 * lets the verifier check the plan, and prints why the plan keeps what it keeps.
 *
 *===----------------------------------------------------------------------===*/

#include "llmmem-c/Planner.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { layers = 8, values = 2 + 3 * layers, ops = 1 + 3 * layers };

/* Layers x -> f -> a -> g -> y forward; backward ops that read what the forward left, in reverse.
 */
static int64_t bytes[values], costs[ops], blocks[ops], reads_begin[ops + 1], writes_begin[ops + 1];
static int32_t reads[ops * 3], writes[ops];
static uint8_t phases[ops];
static int32_t num_values, num_ops;

static int32_t add_value(int64_t size) {
  bytes[num_values] = size;
  return num_values++;
}

static int32_t add_op(int64_t cost, uint8_t phase, int64_t layer, const int32_t *operands,
                      int count, int64_t size) {
  int64_t at = reads_begin[num_ops];
  for (int i = 0; i < count; ++i)
    reads[at++] = operands[i];
  costs[num_ops] = cost;
  phases[num_ops] = phase;
  blocks[num_ops] = layer;
  writes[num_ops] = add_value(size);
  reads_begin[num_ops + 1] = at;
  writes_begin[num_ops + 1] = num_ops + 1;
  return writes[num_ops++];
}

static int32_t make_step(void) {
  const int64_t kilobyte = 1000;
  int32_t inputs[layers + 1] = {add_value(kilobyte)}, wide[layers];
  for (int layer = 0; layer < layers; ++layer) {
    wide[layer] = add_op(10, LLMMEM_FORWARD, layer, &inputs[layer], 1, 4 * kilobyte);
    inputs[layer + 1] = add_op(30, LLMMEM_FORWARD, layer, &wide[layer], 1, kilobyte);
  }
  int32_t gradient = add_op(1, LLMMEM_BACKWARD, layers - 1, &inputs[layers], 1, kilobyte);
  for (int layer = layers - 1; layer >= 0; --layer) {
    const int32_t operands[] = {gradient, wide[layer], inputs[layer]};
    gradient = add_op(80, LLMMEM_BACKWARD, layer, operands, 3, kilobyte);
  }
  return gradient;
}

static void must(llmmem_result result, char *error) {
  if (result == LLMMEM_OK)
    return;
  fprintf(stderr, "plan-step: %s\n", error);
  llmmem_free_text(error);
  exit(1);
}

int main(void) {
  const int32_t gradient = make_step();
  llmmem_problem problem = LLMMEM_INIT(llmmem_problem);
  problem.num_values = num_values;
  problem.value_bytes = bytes;
  problem.num_ops = num_ops;
  problem.op_costs = costs;
  problem.op_reads_begin = reads_begin;
  problem.op_reads = reads;
  problem.op_writes_begin = writes_begin;
  problem.op_writes = writes;
  problem.op_phases = phases;
  problem.op_blocks = blocks;
  problem.num_keep = 1;
  problem.keep = &gradient;

  char *error = NULL;
  const llmmem_plan *plan = NULL;
  must(llmmem_make_plan(&problem, NULL, &plan, &error), error);
  printf("without a budget %" PRId64 " bytes, cost %" PRId64 "\n", plan->arena, plan->cost);
  problem.budget = plan->arena * 6 / 10;
  llmmem_free_plan(plan);

  must(llmmem_make_plan(&problem, NULL, &plan, &error), error);
  if (plan->status != LLMMEM_FEASIBLE) {
    fprintf(stderr, "plan-step: %s\n", plan->witness);
    return 2;
  }
  printf("under %" PRId64 " bytes: %" PRId64 " bytes, cost %" PRId64 ", proved least %" PRId64 "\n",
         problem.budget, plan->arena, plan->cost, plan->cost_lower_bound);

  const llmmem_violations *violations = NULL;
  must(llmmem_verify_plan(&problem, plan, &violations, &error), error);
  printf("%" PRId64 " rules broken\n", violations->count);
  llmmem_free_violations(violations);

  const llmmem_explanation *explanation = NULL;
  must(llmmem_explain_plan(&problem, plan, &explanation, &error), error);
  printf("%s", explanation->text);
  llmmem_free_explanation(explanation);
  llmmem_free_plan(plan);
  return 0;
}
