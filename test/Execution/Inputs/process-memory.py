"""process-memory.py STEM CONFIG FLAGS...: plans a model at half its saved bytes, runs it, compares what the report predicts
with the most that the process held beyond what it held before."""

import json
import subprocess
import sys

stem, config, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
model, step, report = stem + ".model.mlir", stem + ".step.mlir", stem + ".json"


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def plan(flag):
    run("llmmem-opt", flag, f"--memory-report-json={report}", model, "-o", step)
    with open(report) as file:
        read = json.load(file)
    return sum(read["resident"].values()) + read["resident_padding"] + read["arena"], read["saved"]["bytes"]


run("llmmem-import", config, *flags, "-o", model)
whole, saved = plan("--checkpoint-policy=none")
predicted, _ = plan(f"--checkpoint-budget={whole - saved // 2}")
data = stem + ".text"
with open(data, "w") as file:
    file.write("a text long enough for one batch " * 1000)
lines = run("llmmem-run", step, "--data", data, "--steps", "2", "--json", "--gemm=builtin").splitlines()
measured = json.loads(lines[-1])["process_measured"]
holds = abs(measured - predicted) <= predicted / 100
print(f"predicted {predicted}, measured {measured}: {'within 1 %' if holds else f'off by {measured - predicted}'}")
