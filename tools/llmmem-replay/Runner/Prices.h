/*===- Prices.h - What each op of a step adds to a replay of it -------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_PRICES_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_PRICES_H

#include "Runner/Replay.h"
#include "Runner/Report.h"

/* Adds to `profile` a price for each op, in ns: together they are what a replay of the whole step
 * takes. Whole steps run by turns as a replay and with an event after each op, so an op finds in
 * the caches, and of the device's clock, what it finds in a step; alone in a graph, again and
 * again, it reads what it has just written, and one that takes much power lowers its own clock.
 * What events cost is taken off (EventCosts.h). The step has run, so that ids and numbers are those
 * of a step; what memory holds is of no use afterwards. 1 after a failure of the device, with its
 * message in the run. */
int prices_measure(Replay *replay, Profile *profile);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_PRICES_H */
