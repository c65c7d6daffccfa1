"""Plans a step under growing budgets: more-budget.py MODEL BUDGET... -- FLAGS

Neither the modelled step nor what runs again may become longer.
"""

import json
import subprocess
import sys

model, words = sys.argv[1], sys.argv[2:]
budgets, flags = words[:words.index("--")], words[words.index("--") + 1:]
times = []
for budget in budgets:
    made = subprocess.run(["llmmem-opt", model, f"--checkpoint-budget={budget}", *flags, "--memory-report-json=-", "-o", "/dev/null"],
                          check=True, capture_output=True, text=True)
    report = json.loads(made.stdout)
    times.append((report["overlap"]["time_ns"], report["recompute"]["time_ns"]))
print(len(times), "budgets:", *times)
for less, more in zip(times, times[1:]):
    assert more[0] <= less[0] and more[1] <= less[1], (less, more)
print("no longer with more")
