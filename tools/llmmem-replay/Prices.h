/*===- Prices.h - Times of a step's ops, each in a graph of its own ---------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_PRICES_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_PRICES_H

#include "Replay.h"
#include "Report.h"

/* Adds to `profile` what each op takes in a replayed graph that has its calls alone, again and
 * again: no event and no launch of the host stands between kernels, as in a step. Ops of one key
 * are measured once. The step has run, so that ids and numbers are those of a step; what memory
 * holds is of no use afterwards. 1 after a failure of the device, with its message in the run. */
int prices_measure(Replay *replay, Profile *profile);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_PRICES_H */
