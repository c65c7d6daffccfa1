/*===- Probe.h - Parts of a step by themselves ------------------------------===*/

#ifndef LLMMEM_TOOLS_LLMMEM_REPLAY_PROBE_H
#define LLMMEM_TOOLS_LLMMEM_REPLAY_PROBE_H

#include "Runner/Replay.h"

/* Prints a line of JSON for each form of product in the bundle: by the library, whether there is an
 * algorithm for it, and by generated kernels where an op is one product. Each is computed twice on
 * the same random operands; the line says whether the bits are equal, the worst of some elements'
 * errors against float64 in parts of what rounding explains (above 1 is wrong), and the time of
 * one. `replay` is of the program whose products are probed, with all memory reserved; what that
 * held is overwritten. 1 after a failure of the device, with its message in the run. */
int probe_products(Replay *replay);

/* Prints the same of the first attention, and of its gradient on what that has given: 64 queries,
 * and 64 keys. Prints nothing for a step without one that attention_error knows. */
int probe_attention(Replay *replay);

/* Finds where the calls of op `timed` of a profile begin, and how many there are. */
size_t timed_calls(const Program *program, int64_t timed, size_t *count);

/* Prints GB/s of copies on the device, to it and from it, as one line of JSON. Reserves memory. */
int probe_copies(llmmem_cuda *run);

#endif /* LLMMEM_TOOLS_LLMMEM_REPLAY_PROBE_H */
