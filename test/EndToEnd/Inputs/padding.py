"""padding.py model failure-report step: plans under the least budget that the failure names. The report's bytes are those
that a run allocates, and within that budget; one byte less does not do."""
import json
import re
import subprocess
import sys

from chain import plan, run, stop

model, failure, step = sys.argv[1:]
with open(failure) as file:
    least = json.load(file)["least_budget_found"]
report = plan(model, step, "--checkpoint-budget=%d" % least)
reported = sum(report["resident"].values()) + report["resident_padding"] + report["arena"]
allocated = int(re.search(r"together (\d+)", run("llmmem-run", "--dry-run", step)).group(1))
if allocated != reported or allocated > least or report["resident_padding"] != 2168:
    stop("%d bytes allocated, %d reported, a budget of %d, padding of %d"
         % (allocated, reported, least, report["resident_padding"]))
below = subprocess.run(["llmmem-opt", model, "--checkpoint-budget=%d" % (least - 1), "-o", step + ".below"],
                       capture_output=True)
if below.returncode != 2:
    stop("exit %d under one byte less than the least budget found, %d" % (below.returncode, least))
