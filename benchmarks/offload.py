#!/usr/bin/env python3
"""Recompute only, offload only and both: benchmarks/offload.py [problem.json ...] [--chain] [--bin FOLDER] [--planner FILE]

Plans GPT-2 124M (8 sequences of 1,024) and Llama-3-8B (one of 8,192) on h100's model, or the problems given, under
budgets of the device between the least footprint and that of keeping everything, with a host of 512 GB on links of 5, 25 and
100 GB/s each way. Prints a table in Markdown: the time of the step, how much of it is recomputation and waiting, and
what is proved. Every plan is checked. Fails where both together are worse than either.

With --chain: the chain of unittests/Planning/RotorChain.h, twelve equal layers of GPT-3 of which each keeps 114 units, in
428 of them, without a host and with links that move a quarter of a layer, half of it and all of it while its forward runs
(1,000). Without a host the proof is written and checked, and what the check says is printed; a proof knows one memory, so
with a link it is the planner that says what is proved.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = (("gpt2", 8, 1024), ("llama-3-8b", 1, 8192))
LINKS = (5, 25, 100)
HOST = "512GB"


def emit_problem(folder, binaries, config, batch, seq):
    model, problem = (os.path.join(folder, f"{config}{end}") for end in (".mlir", ".json"))
    subprocess.run([f"{binaries}/llmmem-import", f"{ROOT}/examples/configs/{config}.json", "--batch", str(batch), "--seq",
                    str(seq), "-o", model], check=True)
    subprocess.run([f"{binaries}/llmmem-opt", "--checkpoint-policy=none", f"--emit-problem={problem}", model, "-o",
                    os.devnull], check=True, stderr=subprocess.DEVNULL)
    return problem


class Planned:
    """A plan: its bytes, its time, what is proved; `time` is None where there is none."""

    def __init__(self, planner, problem, folder, flags):
        path = os.path.join(folder, "plan.json")
        run = subprocess.run([planner, problem, *flags, "-o", path], stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode not in (0, 2):
            sys.exit(run.stderr)
        self.time = None
        if run.returncode == 2:
            return
        check = [flag for flag in flags if re.match("--(budget|host-budget|link)=(?!min)", flag)]
        subprocess.run([planner, "--check", problem, path, *check], check=True)
        with open(path, encoding="utf-8") as text:
            plan = json.load(text)
        memories = plan.get("memories", [plan])
        self.arena, self.host = memories[0]["arena"], memories[1]["arena"] if len(memories) > 1 else 0
        self.time, self.proved = plan.get("time", plan["cost"]), plan.get("time_lower_bound", plan["cost_lower_bound"])
        waits = re.search(r"recomputed (\d+).*waits for copies (\d+)", run.stderr)
        self.again = int(waits[1]) if waits else plan["cost"] - plan["base_cost"]
        self.waits = int(waits[2]) if waits else 0


def row(budget, link, name, it):
    if it.time is None:
        print(f"| {budget / 1e9:.2f} GB | {link} | {name} | no plan found | | | | | |")
        return
    gap = 100 * (it.time - it.proved) / it.time
    print(f"| {budget / 1e9:.2f} GB | {link} | {name} | {it.time / 1e6:.2f} | {it.again / 1e6:.2f} | {it.waits / 1e6:.2f} | "
          f"{it.host / 1e9:.2f} GB | {it.proved / 1e6:.2f} | {gap:.2f} % |", flush=True)


def frontier(planner, problem, folder):
    with open(problem, encoding="utf-8") as text:
        resident = sum(value["bytes"] for value in json.load(text)["values"] if value.get("resident"))
    most = Planned(planner, problem, folder, ["--policy=none"]).arena
    least = Planned(planner, problem, folder, ["--budget=min"]).arena
    print("| device | link, GB/s | | step, ms | again | waits | on the host | proved | gap |\n|" + "---|" * 9)
    for part in (0.6, 0.3, 0.1):
        budget = resident + least + int(part * (most - least))
        alone = Planned(planner, problem, folder, [f"--budget={budget}"])
        row(budget, "", "recompute", alone)
        for link in LINKS:
            flags = [f"--budget={budget}", f"--host-budget={HOST}", f"--link={link}GB/s"]
            offload = Planned(planner, problem, folder, [*flags, "--policy=none"])
            both = Planned(planner, problem, folder, flags)
            row(budget, link, "offload", offload)
            row(budget, link, "both", both)
            for other in (alone, offload):
                if other.time is not None and (both.time is None or both.time > other.time):
                    sys.exit("both together are worse than either")
    for link in LINKS:
        least_there = Planned(planner, problem, folder, ["--budget=min", f"--host-budget={HOST}", f"--link={link}GB/s"])
        row(resident + least_there.arena, link, "least device bytes", least_there)


UNIT = 27  # bytes, as in RotorChain.h
LAYERS, BOUNDARY, BODY, FORWARD, BACKWARD, CAPACITY = 12, 2 * UNIT, 112 * UNIT, 1000, 2000, 428 * UNIT


def write_chain(path):
    """Layer i takes boundary i to boundary i + 1 and saves its body; boundary 0 is resident."""
    values, ops = [], []

    def value(size, **more):
        values.append({"id": len(values), "bytes": size, **more})
        return len(values) - 1

    def op(reads, writes, cost, **more):
        ops.append({"id": len(ops), "name": f"op{len(ops)}", "cost": cost, "reads": reads, "writes": writes, **more})

    boundaries, bodies = [value(BOUNDARY, resident=True)], []
    for _ in range(LAYERS):
        bodies.append(value(BODY))
        boundaries.append(value(BOUNDARY))
        op([boundaries[-2]], [bodies[-1], boundaries[-1]], FORWARD)
    gradient = value(BOUNDARY)
    op([boundaries[-1]], [gradient], 0, in_place=[[gradient, boundaries[-1]]])
    for layer in reversed(range(LAYERS)):
        before, gradient = gradient, value(BOUNDARY)
        op([before, bodies[layer], boundaries[layer]], [gradient], BACKWARD)
    with open(path, "w", encoding="utf-8") as text:
        json.dump({"format": "llmmem-problem", "version": 1, "alignment": 1, "values": values, "ops": ops, "keep": [gradient]}, text)


def chain(planner, folder):
    problem, plan, proof = (os.path.join(folder, name) for name in ("chain.json", "alone.json", "proof.json"))
    write_chain(problem)
    budget = f"--budget={BOUNDARY + CAPACITY}"
    subprocess.run([planner, problem, budget, "-o", plan, f"--emit-proof={proof}"], stderr=subprocess.DEVNULL, check=True)
    with open(plan, encoding="utf-8") as text:
        alone = json.load(text)
    print(f"| link in a forward | step | everything once | proved | bytes of the device |\n|{'---|' * 5}")
    print(f"| none | {alone['cost']:,} | {alone['base_cost']:,} | {alone['cost_lower_bound']:,} | {alone['arena']:,} |")
    for part, name in ((4, "a quarter of a layer"), (2, "half of it"), (1, "all of it")):
        rate = (BOUNDARY + BODY) * 1_000_000 // part  # a forward takes 1,000 ns
        flags = [budget, f"--host-budget={LAYERS * (BOUNDARY + BODY)}", f"--link={rate}B/s"]
        planned = Planned(planner, problem, folder, flags)
        print(f"| {name} | {planned.time:,} | {alone['base_cost']:,} | {planned.proved:,} | {planned.arena:,} |")
    print("\nWithout a host, by llmmem-plan --check:", flush=True)
    subprocess.run([planner, "--check", problem, plan, proof, budget], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--chain", action="store_true", help="the chain of twelve layers in 428 units, and nothing else")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where llmmem-import and llmmem-opt are")
    parser.add_argument("--planner", help="llmmem-plan, where it is another than that of --bin")
    arguments = parser.parse_args()
    planner = arguments.planner or os.path.join(arguments.bin, "llmmem-plan")
    with tempfile.TemporaryDirectory() as folder:
        if arguments.chain:
            return chain(planner, folder)
        problems = arguments.problems or [emit_problem(folder, arguments.bin, *model) for model in MODELS]
        for problem in problems:
            print(f"\n{os.path.basename(problem)}\n")
            frontier(planner, problem, folder)


if __name__ == "__main__":
    main()
