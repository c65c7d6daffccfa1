/*===- EventCosts.c - What events between ops cost, taken off --------------===*/

#include "Runner/EventCosts.h"

int64_t ns_without_events(int64_t ns, int64_t sum, int64_t step, int64_t calls) {
  if (ns <= 0 || sum <= 0 || calls <= 0)
    return 0;
  if (step >= sum)
    return (int64_t)((double)ns * ((double)step / (double)sum) + 0.5);
  int64_t rest = ns - (sum - step) / calls;
  return rest > ns / 4 ? rest : ns / 4;
}
