/*===- EventCosts.h - What events between ops cost, taken off --------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_EVENTCOSTS_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_EVENTCOSTS_H

#include "llmmem/Runtime/ExternC.h"
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* Returns what an op of `ns` between events adds to a step, where `calls` ops took `sum` ns between
 * events and a replay of all takes `step`. Events cost every op the same, (sum - step) / calls; an
 * op keeps at least a quarter, as none takes no time. Where the replay took longer, each op grows
 * by its share. Example: 10 ops, 100000 ns between events, 80000 in a replay: 30000 becomes 28000,
 * and 2200 becomes 550. */
int64_t ns_without_events(int64_t ns, int64_t sum, int64_t step, int64_t calls);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_EVENTCOSTS_H */
