#!/usr/bin/env python3
"""Strategies for clusters, by llmmem-opt's models: benchmarks/strategies.py frontier|scale [--bin FOLDER]

  frontier   fixed recipes of sharding and recomputation, compared with the joint plan of --mesh=auto, for Llama-3-8B on 8 devices
             and Llama-3-70B on 64 of 80 GB: bytes of the fullest rank, time of a step, and how much of it is recomputation
  scale      seconds and memory of --mesh=auto itself for Llama-3.1-405B on 8 to 4,096 devices

Prints tables in Markdown. Times of steps are modelled for h100, nodes of 8 with 400 bytes/ns between them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def write_topology(folder, devices, memory="80GB"):
    path = os.path.join(folder, f"cluster{devices}.json")
    topology = {"devices": [{"table": "h100", "memory": memory, "count": devices}]}
    if devices > 8:
        topology |= {"devices_per_node": 8, "between_nodes": {"bytes_per_ns": 400, "latency_ns": 5000}}
    with open(path, "w", encoding="utf-8") as handle:
        json.dump(topology, handle)
    return path


def import_model(folder, config, batch, seq=8192):
    path = os.path.join(folder, f"{config}-{batch}.mlir")
    subprocess.run(["llmmem-import", f"{ROOT}/examples/configs/{config}.json", "--batch", str(batch), "--seq", str(seq),
                    "-o", path], check=True)
    return path


def read(path):
    with open(path, encoding="utf-8") as handle:
        return json.load(handle)


class Step:
    """Bytes and time of a step by its memory report; what of the time are clones and collectives by its ops."""

    def __init__(self, report, text):
        functions = report.get("stages") or []
        runs = {function["function"]: function["runs"] for function in functions}
        self.bytes = max((function["needed"] for function in functions),
                         default=sum(report["resident"].values()) + report["resident_padding"] + report["arena"])
        self.again = self.linked = self.repeated = total = 0
        times = 1
        for line in text:
            if name := re.search(r"func\.func @(\w+)", line):
                times = runs.get(name[1], 1)
            if not (cost := re.search(r"#llm\.cost<[^>]*\bns = (\d+)", line)):
                continue
            nanoseconds, is_clone = times * int(cost[1]), "llm.clone_of" in line
            is_collective = re.search(r"= llm\.(all_gather|all_reduce|reduce_scatter|exchange)\b", line) is not None
            total += nanoseconds
            self.again += nanoseconds * is_clone
            self.linked += nanoseconds * is_collective
            self.repeated += times * (is_clone and is_collective)
        self.ns = report["pipeline"]["time_ns"] if report.get("pipeline") else total


def run_step(folder, model, flags):
    """Returns the step, or why there is none."""
    report, step = os.path.join(folder, "report.json"), os.path.join(folder, "step.mlir")
    run = subprocess.run(["llmmem-opt", *flags, f"--memory-report-json={report}", model, "-o", step],
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        return None, next((line for line in run.stderr.splitlines() if "error" in line or "llmmem-opt:" in line), "?")[:160]
    with open(step, encoding="utf-8") as text:
        return Step(read(report), text), ""


RECIPES = {
    8: [("FSDP, nothing again", "--mesh=dp=8 --zero=3 --checkpoint-policy=none"),
        ("FSDP, selective", "--mesh=dp=8 --zero=3 --checkpoint-policy=selective"),
        ("FSDP, full", "--mesh=dp=8 --zero=3 --checkpoint-policy=full"),
        ("dp 8, ZeRO-3, planned by llmmem", "--mesh=dp=8 --zero=3 --micro-batches=1 --checkpoint-budget=80GB"),
        ("tp 8, sequence parallel, nothing again", "--mesh=tp=8 --sequence-parallel --checkpoint-policy=none"),
        ("tp 8, sequence parallel, selective", "--mesh=tp=8 --sequence-parallel --checkpoint-policy=selective"),
        ("tp 8, sequence parallel, full", "--mesh=tp=8 --sequence-parallel --checkpoint-policy=full"),
        ("tp 4 x pp 2, full", "--mesh=pp=2,tp=4 --sequence-parallel --checkpoint-policy=full")],
    64: [("FSDP, nothing again", "--mesh=dp=64 --zero=3 --checkpoint-policy=none"),
         ("FSDP, selective", "--mesh=dp=64 --zero=3 --checkpoint-policy=selective"),
         ("FSDP, full", "--mesh=dp=64 --zero=3 --checkpoint-policy=full"),
         ("FSDP, full, both sequences at once", "--mesh=dp=64 --zero=3 --checkpoint-policy=full --micro-batches=1"),
         ("dp 64, ZeRO-3, planned by llmmem", "--mesh=dp=64 --zero=3 --micro-batches=1 --checkpoint-budget=80GB"),
         ("tp 8 x dp 8, ZeRO-1, full", "--mesh=dp=8,tp=8 --zero=1 --sequence-parallel --checkpoint-policy=full"),
         ("tp 8 x dp 8, ZeRO-3, selective", "--mesh=dp=8,tp=8 --zero=3 --sequence-parallel --checkpoint-policy=selective"),
         ("tp 8 x dp 8, ZeRO-3, full", "--mesh=dp=8,tp=8 --zero=3 --sequence-parallel --checkpoint-policy=full"),
         ("tp 8 x pp 8, full", "--mesh=pp=8,tp=8 --sequence-parallel --checkpoint-policy=full")],
}


def print_row(name, step, budget, best, note=""):
    if step is None:
        print(f"| {name} | | | | | | {note} |")
        return
    note = note or ("over 80 GB" if step.bytes > budget else f"{100 * (step.ns / best - 1):.1f} % longer")
    print(f"| {name} | {step.bytes / 1e9:.2f} GB | {step.ns / 1e6:.1f} | {step.again / 1e6:.1f} | {step.linked / 1e6:.1f} | "
          f"{step.repeated} | {note} |")


def frontier(folder):
    for config, devices, batch in (("llama-3-8b", 8, 16), ("llama-3-70b", 64, 128)):
        topology = write_topology(folder, devices)
        model = import_model(folder, config, batch)
        report = os.path.join(folder, "mesh.json")
        joint, why = run_step(folder, model, ["--mesh=auto", f"--topology={topology}", f"--mesh-report={report}",
                                              "--checkpoint-seconds=60"])
        if joint is None:
            sys.exit(why)
        print(f"\n{config} on {devices} devices, {batch} sequences of 8,192\n")
        print("| strategy | fullest rank | step, ms | of it again | collectives | repeated | |\n|---|---|---|---|---|---|---|")
        for name, flags in RECIPES[devices]:
            # One sequence at a time, as recipes have it: batch / dp micro-batches.
            ranks = next((int(axis[3:]) for axis in flags.split()[0][7:].split(",") if axis.startswith("dp=")), 1)
            parts = [] if "--micro-batches" in flags else [f"--micro-batches={batch // ranks}"]
            step, why = run_step(folder, model, [*flags.split(), *parts, f"--checkpoint-device={topology}"])
            print_row(name, step, 80e9, joint.ns, why)
        print_row("joint: `" + read(report)["best"][0]["flags"] + "`", joint, 80e9, joint.ns, "chosen")


def scale(folder):
    print("| devices | strategies | programs | s | CPU s | MB | chosen |\n|---|---|---|---|---|---|---|")
    topology = write_topology(folder, 4096)
    for power in range(3, 13):
        devices = 2**power
        model = import_model(folder, "llama-3.1-405b", max(devices, 64))
        report = os.path.join(folder, "mesh.json")
        begin = time.monotonic()
        process = subprocess.Popen(["llmmem-opt", "--mesh=auto", f"--topology={topology}", f"--devices={devices}",
                                    "--mesh-only", f"--mesh-report={report}", model, "-o", "/dev/null"],
                                   stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        mesh = read(report)
        best = f"`{mesh['best'][0]['flags']}`" if mesh["best"] else mesh["status"]
        print(f"| {devices} | {len(mesh['best']) + len(mesh['others'])} | {mesh['shapes']} | {seconds:.1f} | "
              f"{usage.ru_utime + usage.ru_stime:.1f} | "
              f"{usage.ru_maxrss / 1024:.0f} | {best} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["frontier", "scale"])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where llmmem-opt is")
    arguments = parser.parse_args()
    os.environ["PATH"] = arguments.bin + os.pathsep + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        {"frontier": frontier, "scale": scale}[arguments.table](folder)


if __name__ == "__main__":
    main()
