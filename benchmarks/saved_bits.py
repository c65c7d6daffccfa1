#!/usr/bin/env python3
"""What saved values in 8 bits give and cost: benchmarks/saved_bits.py [--steps N] [--bin FOLDER]

Prints as Markdown the modelled time of GPT-2 124M's step (f32, batch 4, 512 tokens) under budgets, with and without --saved-bits=8; then trains
tiny-gpt2 (16 rows of 64 bytes of docs/Design/Planning.md a step) under a budget at which a made-up device, slow compared with its memory, holds all
that may be packed in 8 bits, and prints the mean loss of the last 20 steps before each hundredth, with that of the plan without packing.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLOW = {"name": "slow", "source": "made up", "flops_per_ns": {"bf16": 50, "f32": 50, "f64": 25}, "bytes_per_ns": 100, "launch_ns": 0}
LAST = 20


def plan(folder, model, *flags):
    """Returns the step's file and its report; None where no plan exists."""
    step, report = (os.path.join(folder, name) for name in ("step.mlir", "report.json"))
    done = subprocess.run(["llmmem-opt", f"--memory-report-json={report}", *flags, model, "-o", step], stderr=subprocess.DEVNULL)
    if done.returncode:
        return step, None
    with open(report) as file:
        return step, json.load(file)


def import_model(folder, config, *flags):
    model = os.path.join(folder, "model.mlir")
    subprocess.run(["llmmem-import", f"{ROOT}/examples/configs/{config}.json", "--dropout", "0", *flags, "-o", model], check=True)
    return model


def print_times(folder):
    model = import_model(folder, "gpt2", "--batch", "4", "--seq", "512")
    print("| device | budget | recomputed instead, ms | with 8 bits, ms | values in 8 bits | their bytes |\n|---|---|---|---|---|---|")
    for device in ("cpu", "a100", "h100"):
        for budget in ("3.2GB", "3GB", "2.8GB", "2.6GB"):
            asked = [f"--checkpoint-device={device}", f"--checkpoint-budget={budget}"]
            reports = [plan(folder, model, *asked, *more)[1] for more in ([], ["--saved-bits=8"])]
            times = [f"{report['step']['planned_time_ns'] / 1e6:.3f}" if report else "none" for report in reports]
            packed = reports[1]["packed"] if reports[1] else {"values": 0, "bytes": 0, "packed_bytes": 0}
            print(f"| {device} | {budget} | {times[0]} | {times[1]} | {packed['values']} | {packed['bytes']:,} in {packed['packed_bytes']:,} |", flush=True)


def train(step, steps):
    run = subprocess.run(["llmmem-run", step, "--data", f"{ROOT}/docs/Design/Planning.md", "--steps", str(steps)], check=True,
                         capture_output=True, text=True)
    return [float(loss) for loss in re.findall(r"^step \d+ +loss ([\d.]+)", run.stdout, re.M)]


def print_curve(folder, steps):
    table = os.path.join(folder, "slow.json")
    with open(table, "w") as file:
        json.dump(SLOW, file)
    model, prices = import_model(folder, "tiny-gpt2", "--batch", "16", "--seq", "64"), f"--checkpoint-device={table}"
    free = plan(folder, model, prices, "--checkpoint-policy=none")[1]["peak"]["bytes"]
    marks = range(100, steps + 1, 100)
    print("| saved values in 8 bits |", " | ".join(f"loss at {mark}" for mark in marks), "|")
    print("|---" * (1 + len(marks)) + "|")
    asked = [[prices, f"--checkpoint-budget={free * share // 100}", "--saved-bits=8"] for share in range(95, 45, -5)]
    most = max(asked, key=lambda flags: (plan(folder, model, *flags)[1] or {"packed": {"values": 0}})["packed"]["values"])
    for flags in (most[:2], most):
        step, report = plan(folder, model, *flags)
        losses = train(step, steps)
        means = [sum(losses[mark - LAST:mark]) / LAST for mark in marks]
        print(f"| {report['packed']['values']} |", " | ".join(f"{mean:.4f}" for mean in means), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=700, help="of training, a multiple of 100")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where the tools are")
    arguments = parser.parse_args()
    os.environ["PATH"] = arguments.bin + os.pathsep + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        print_times(folder)
        print()
        print_curve(folder, arguments.steps)


if __name__ == "__main__":
    main()
