/*===- HostCopies.h - Values that may leave for a host's memory -------------===*
 *
 * Next to keeping and recomputing a value, a plan may copy it to the memory of a host and back:
 * what llmmem-plan does under --host-budget (docs/Design/SeveralMemories.md). Copies run at the
 * same time as ops, one at a time in each direction. A copy takes latency + bytes / rate, rounded
 * up, so costs of the problem are nanoseconds.
 *
 * A plan with a host is a llmmem_plan, and a llmmem_host_plan that says what the steps and offsets
 * beyond the problem's own ops and values are: step number num_ops + i runs copies[i], and value
 * copies[i].host_value is on the host, where its offset counts from the start of the host's arena.
 * A copy to the host holds its value on the device until it ends, and whatever takes those bytes
 * waits for it. A copy to the device holds its bytes from its start.
 *
 * Example: 40 GB on the device, 64 GB on the host, and 25 GB/s each way between them.
 *
 *   llmmem_host host = LLMMEM_INIT(llmmem_host);
 *   const llmmem_host_plan *copies;
 *   problem.budget = 40000000000;
 *   host.budget = 64000000000;
 *   if (llmmem_parse_link("25GB/s", &host, &error) == LLMMEM_OK &&
 *       llmmem_make_plan_with_host(&problem, &host, NULL, &plan, &copies, &error) == LLMMEM_OK)
 *     printf("%lld ns\n", (long long)copies->time);
 *
 *===----------------------------------------------------------------------===*/

#ifndef LLMMEM_C_HOSTCOPIES_H
#define LLMMEM_C_HOSTCOPIES_H

#include "llmmem-c/Planner.h"

LLMMEM_C_BEGIN

/* The memory of a host, and the link that leads there. */
typedef struct llmmem_host {
  size_t size;
  int64_t budget;           /* bytes that the arena on the host must not exceed */
  int64_t to_host;          /* bytes per second of the link to the host */
  int64_t to_device;        /* bytes per second of the link back */
  int64_t latency;          /* ns of each copy */
  const uint8_t *may_leave; /* [num_values] or NULL: 1; 0: the value stays on the device. Inputs,
                               and values that are never idle, stay in any case */
} llmmem_host;

/* Sets the rates of `host`: `25GB/s` of both directions, `25GB/s,20GB/s` of the way to the host and
 * of the way back. Any other text is LLMMEM_INVALID. */
LLMMEM_C_EXPORT llmmem_result llmmem_parse_link(const char *text, llmmem_host *host, char **error);

/* One copy that the plan may run. */
typedef struct llmmem_host_copy {
  int32_t value; /* of the problem */
  int32_t
      host_value;  /* its bytes on the host, with a number beyond those of the problem's values */
  int32_t to_host; /* 1: from the device to the host; 0: back */
  int32_t reserved;
  int64_t cost; /* ns */
} llmmem_host_copy;

/* What a plan with a host has in addition to a llmmem_plan. Times are those at which the last step
 * ends. */
typedef struct llmmem_host_plan {
  size_t size;
  int64_t num_copies;
  const llmmem_host_copy *copies; /* all that may run, in the order of their numbers */
  int64_t peak;                   /* largest sum of bytes that are on the host at once */
  int64_t arena;                  /* end of the highest offset on the host; at most its budget */
  int64_t peak_lower_bound;       /* proved: no plan has a lower peak on the host */
  int64_t time;                   /* of the step, in ns */
  int64_t base_time;              /* of every op once, without copies */
  int64_t time_lower_bound;       /* proved: no plan under both budgets takes less */
} llmmem_host_plan;

/* Does what llmmem_make_plan does, where values may leave for `host`. The peak, the arena and their
 * bounds in `plan` are those of the device, and its costs have the copies that run. Without a
 * budget of the problem nothing leaves. The caller frees `host_plan` with llmmem_free_host_plan. */
LLMMEM_C_EXPORT llmmem_result llmmem_make_plan_with_host(
    const llmmem_problem *problem, const llmmem_host *host, const llmmem_plan_options *options,
    const llmmem_plan **plan, const llmmem_host_plan **host_plan, char **error);
LLMMEM_C_EXPORT void llmmem_free_host_plan(const llmmem_host_plan *host_plan);

/* Does what llmmem_verify_plan does for a plan with a host. `host_plan` says its numbers; which
 * copies there are follows from `problem` and `host`, so its copies may be left out. */
LLMMEM_C_EXPORT llmmem_result llmmem_verify_plan_with_host(
    const llmmem_problem *problem, const llmmem_host *host, const llmmem_plan *plan,
    const llmmem_host_plan *host_plan, const llmmem_violations **violations, char **error);

LLMMEM_C_END

#endif /* LLMMEM_C_HOSTCOPIES_H */
