#!/usr/bin/env python3
"""Seconds of planning a training step of each family's largest shipped config, under a budget that needs recomputation.

  family_plans.py [NAME...]     prints the table of docs/Design/SavedBytes.md; the tools are on the PATH

In bf16, batch 1, the longest sequence up to 4096 (images: batch 64). The budget is half-way between the least one that a plan was
found for and what the step needs without one. Seconds are what llmmem-opt prints of its planner, and of its whole run.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIGS = os.path.join(ROOT, "examples", "configs")


def count(file):
    out = subprocess.run(["llmmem-import", file, "--count-parameters"], capture_output=True, text=True, check=True)
    return int(out.stdout)


def largest_of_families():
    largest = {}
    for name in sorted(os.listdir(CONFIGS)):
        file = os.path.join(CONFIGS, name)
        with open(file) as text:
            config = json.load(text)
        size = count(file)
        if size > largest.get(config["model_type"], (0,))[0]:
            largest[config["model_type"]] = (size, name.removesuffix(".json"), config)
    return largest


def needed(report):
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def plan(model, flag):
    """Returns the report, the planner's own seconds, and the seconds of the whole process."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        done = subprocess.run(["llmmem-opt", model, flag, "--memory-report-json=" + file, "-o", os.devnull], capture_output=True,
                              text=True, check=True)
        with open(file) as text:
            report = json.load(text)
    return report, float(re.search(r"planning +([\d.]+) s", done.stderr).group(1)), time.monotonic() - start


def measure(size, name, config):
    seq = min(config.get("max_position_embeddings") or config.get("n_positions") or 2048, 4096)
    shape = ["--batch=64"] if "image_size" in config else ["--batch=1", f"--seq={seq}"]
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.mlir")
        subprocess.run(["llmmem-import", os.path.join(CONFIGS, name + ".json"), *shape, "--dtype=bf16", "-o", model], check=True)
        most, least = (needed(plan(model, flag)[0]) for flag in ("--checkpoint-policy=none", "--checkpoint-budget=min"))
        budget = (most + least) // 2
        report, planning, whole = plan(model, f"--checkpoint-budget={budget}")
    return [size, " ".join(flag.removeprefix("--").replace("=", " ") for flag in shape), f"{budget / 1e9:,.2f}",
            f"{most / 1e9:,.2f}", report["recompute"]["ops"], f"{planning:.1f}", f"{whole:.1f}"]


def main():
    print("| family | config | parameters | step | budget, GB | without one | ops again | planning, s | llmmem-opt, s |")
    print("|---|---|---:|---|---:|---:|---:|---:|---:|")
    for family, (size, name, config) in sorted(largest_of_families().items()):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            size, *rest = measure(size, name, config)
            print(f"| `{family}` | {name} | {size:,} | " + " | ".join(map(str, rest)) + " |", flush=True)


if __name__ == "__main__":
    main()
