"""Gives llmmem-plan steps with next to nothing in them, under every flag: degenerate.py LLMMEM_PLAN FOLDER

Exit codes must be 0 or 2 (2: no plan), a plan must check with its proof, and nothing else may happen.
"""

import itertools
import json
import os
import subprocess
import sys

tool, folder = sys.argv[1:]


def value(number, size=4, resident=False):
    return {"id": number, "bytes": size, "resident": resident}


def op(number, reads=(), writes=(), **more):
    return {"id": number, "reads": list(reads), "writes": list(writes), **more}


def step(values, ops, keep=()):
    return {"format": "llmmem-problem", "version": 1, "values": values, "ops": ops, "keep": list(keep)}


PROBLEMS = {
    "nothing": step([], []),
    "resident": step([value(0, resident=True)], []),
    "kept_resident": step([value(0, resident=True)], [], [0]),
    "kept_input": step([value(0)], [], [0]),
    "empty_op": step([], [op(0)]),
    "no_bytes": step([value(0, 0), value(1, 0)], [op(0, [0], [1], phase="forward")], [1]),
    "backward": step([value(0), value(1, 64)], [op(n, [], [n], phase="backward", cost=1) for n in (0, 1)], [0, 1]),
}
FLAGS = [[f"--budget={size}"] for size in ("min", "3", "1GB")]
FLAGS += [[f"--policy={name}"] for name in ("none", "full", "every=3", "sqrt", "selective", "least-peak")]
FLAGS += [["--budget=1GB", "--host-budget=1GB", "--link=1GB/s"], ["--budget=min", "--host-budget=1GB", "--link=1GB/s"]]
FLAGS += [["--structure"], ["--sweep=3"], ["--sweep=2", "--json"], ["--explain"]]


def run(*words):
    return subprocess.run([tool, *words], capture_output=True, text=True, timeout=60, check=False)


failed = 0
for (name, problem), flags in itertools.product(PROBLEMS.items(), FLAGS):
    files = {kind: os.path.join(folder, f"{name}.{kind}.json") for kind in ("problem", "plan", "proof", "trace")}
    with open(files["problem"], "w", encoding="utf-8") as out:
        json.dump(problem, out)
    words = [files["problem"], *flags, "-o", files["plan"]]
    plans = flags[0].startswith(("--budget", "--policy")) and len(flags) == 1
    if plans:
        words += [f"--emit-proof={files['proof']}", f"--trace={files['trace']}"]
    made = run(*words)
    checked = run("--check", files["problem"], *flags, files["plan"], files["proof"]) if plans and made.returncode == 0 else None
    if made.returncode not in (0, 2) or (made.returncode == 2 and flags != ["--budget=3"]) or (checked and checked.returncode != 0):
        failed += 1
        print(name, flags, made.returncode, made.stderr[-300:], checked and checked.stdout + checked.stderr)
print(len(PROBLEMS) * len(FLAGS), "runs,", failed, "of them wrong")
