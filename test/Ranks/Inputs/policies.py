"""Compares fixed policies where several micro-batches run: policies.py MODEL FOLDER

Against keeping everything, each of them must save less, need no more on any stage and less on one, and take longer; but for
--checkpoint-policy=selective and what gathers parameters again they must save less than half of the bytes.
"""

import json
import os
import subprocess
import sys

model, folder = sys.argv[1:]
STAGES = ["--mesh=pp=2", "--micro-batches=4"]
FORMS = [["--micro-batches=4"], *([*STAGES, f"--pipeline={name}"] for name in ("gpipe", "1f1b", "zero-bubble")),
         [*STAGES, "--pipeline=interleaved", "--pipeline-chunks=2"], [*STAGES, "--overlap"],
         ["--mesh=dp=2,pp=2", "--micro-batches=4", "--zero=1"], ["--mesh=dp=2,pp=2", "--micro-batches=4", "--zero=3"],
         ["--mesh=tp=2,pp=2", "--micro-batches=4", "--sequence-parallel"]]


def report(form, policy):
    name = os.path.join(folder, "report.json")
    subprocess.run(["llmmem-opt", model, *form, f"--checkpoint-policy={policy}", f"--memory-report-json={name}", "-o", "/dev/null"],
                   check=True, capture_output=True)
    with open(name, encoding="utf-8") as file:
        found = json.load(file)
    needs = [stage["needed"] for stage in found.get("stages", [])] or [found["peak"]["bytes"]]
    return found["saved"]["bytes"], needs, found["overlap"]["time_ns"]


for form in FORMS:
    saved, needs, time = report(form, "none")
    zero3 = ["none+reshard"] if "--zero=3" in form else []
    for policy in ["selective", "selective=mlp,layernorm", "every=2", "full", "full+first=1", *zero3]:
        less, lower, longer = report(form, policy)
        shown = (form, policy, (less, saved), (lower, needs), (longer, time))
        assert less < (saved / 2 if policy in ("every=2", "full") else saved) and longer > time, shown
        assert all(one <= other for one, other in zip(lower, needs)) and lower != needs, shown
    print(" ".join(form), "holds")
