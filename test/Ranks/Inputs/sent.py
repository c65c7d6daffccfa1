#!/usr/bin/env python3
"""Counts at MPI what a rank sends in a step: sent.py COUNTER STEP DATA REPORT RANKS LAUNCHER...

A run of three steps sends two steps' more than a run of one. Prints the bytes of a step next to those of the report of its
plan, and exits with 1 where they differ by more than what is said of scalars."""
import json
import re
import subprocess
import sys

counter, step, data, report, ranks, launcher = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6:]


def sent(steps):
    done = subprocess.run([*launcher, "-n", str(ranks), "-x", f"LD_PRELOAD={counter}", "llmmem-run", "--optimize=false", step, "--data", data,
                           "--steps", str(steps)], capture_output=True, text=True, check=True)
    return {int(rank): int(number) for rank, number in re.findall(r"^rank (\d+) sent (\d+) bytes", done.stderr, re.M)}


# Before each step the ranks ask one another whether a signal came: eight bytes each.
ASKED = 8 * (ranks - 1)
with open(report) as handle:
    facts = json.load(handle)
# The report counts a part for each rank, rounded up. Of a scalar one rank has all: the loss and the count of targets are
# summed by half the messages; in a pipeline those of each micro-batch, and the loss of all stages.
SCALARS = 4 * (2 * facts["pipeline"]["micro_batches"] + 1 if "pipeline" in facts else 2)
# The axis of the stages is the last of the mesh.
stages = [stage["sent_bytes"] for stage in facts.get("stages", [])] or [facts["ranks"]["sent_bytes"]]
one, three = sent(1), sent(3)
assert len(one) == ranks, one
for rank in range(ranks):
    predicted = stages[rank % len(stages)]
    counted, odd = divmod(three[rank] - one[rank], 2)
    print(f"rank {rank}: {counted - ASKED} bytes a step, predicted {predicted}")
    if odd or not 0 <= predicted - (counted - ASKED) <= SCALARS:
        sys.exit(1)
