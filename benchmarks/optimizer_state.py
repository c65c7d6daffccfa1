#!/usr/bin/env python3
"""What AdamW's moments in fewer bits do to training: benchmarks/optimizer_state.py [--steps N] [--bin FOLDER]

Trains tiny-gpt2 from random parameters on docs/Design/Planning.md (16 rows of 64 bytes a step, 700 steps), with moments in f32, bf16 and int8,
and prints as Markdown the mean loss of the last 20 steps before each hundredth, and the bytes of the state.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STATES, LAST = ("f32", "bf16", "int8"), 20


def train(folder, state, steps):
    """Returns the loss of each step, and the bytes of the state."""
    model, step = (os.path.join(folder, name) for name in ("model.mlir", "step.mlir"))
    subprocess.run(["llmmem-import", f"{ROOT}/examples/configs/tiny-gpt2.json", "--batch", "16", "--seq", "64", "--dropout", "0",
                    "--optimizer-state", state, "-o", model], check=True)
    report = os.path.join(folder, "report.json")
    subprocess.run(["llmmem-opt", "--checkpoint-policy=none", f"--memory-report-json={report}", model, "-o", step], check=True,
                   stderr=subprocess.DEVNULL)
    run = subprocess.run(["llmmem-run", step, "--data", f"{ROOT}/docs/Design/Planning.md", "--steps", str(steps)], check=True,
                         capture_output=True, text=True)
    with open(report) as file:
        bytes_of_state = json.load(file)["resident"]["optimizer_state"]
    return [float(loss) for loss in re.findall(r"^step \d+ +loss ([\d.]+)", run.stdout, re.M)], bytes_of_state


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=700, help="of training, a multiple of 100")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where the tools are")
    arguments = parser.parse_args()
    os.environ["PATH"] = arguments.bin + os.pathsep + os.environ["PATH"]
    marks = range(100, arguments.steps + 1, 100)
    print("| moments | bytes of the state |", " | ".join(f"loss at {mark}" for mark in marks), "|")
    print("|---" * (2 + len(marks)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for state in STATES:
            losses, bytes_of_state = train(folder, state, arguments.steps)
            means = [sum(losses[mark - LAST:mark]) / LAST for mark in marks]
            print(f"| {state} | {bytes_of_state:,} |", " | ".join(f"{mean:.4f}" for mean in means), "|", flush=True)


if __name__ == "__main__":
    main()
