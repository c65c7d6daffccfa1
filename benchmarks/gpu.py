#!/usr/bin/env python3
"""One command for a day with a GPU; benchmarks/gpu.sh builds first.

  gpu.py [--only=numerics|calibrate|table] [--models=gpt2,gpt2-medium,gpt2-large,gpt2-xl,llama-3-8b] [--repeats=3]

Checks numbers against the CPU, measures the kernels of the models, then prints for each of them tokens a second, share
of peak, bytes and recompute cost, predicted and measured, compared with PyTorch. What was done is kept under --state, and a
later call goes on from there. The report goes to docs/Measured, named after the device; results of a driver that is no
GPU's stay in --state. Exit code 1 where a promise is broken, 3 where there is no GPU.
"""

import argparse
import datetime
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys

import gpu_numerics
import gpu_report
import gpu_table
from promises import finish
from steps import ROOT, Bench, Model, products_flags, read_json, run_flags, write_json

PARTS = ["numerics", "calibrate", "table"]


def load_calibrate():
    """Returns the command without an ending, as a module."""
    path = os.path.join(ROOT, "benchmarks", "calibrate")
    loader = importlib.machinery.SourceFileLoader("calibrate", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("calibrate", loader))
    loader.exec_module(module)
    return module


class Results:
    """What was measured, written after every step of the work."""

    def __init__(self, path):
        self.path, self.kept = path, read_json(path) if os.path.exists(path) else {}

    def part(self, name):
        return self.kept.setdefault(name, {})

    def keep(self, part, name, value):
        self.part(part)[name] = value
        write_json(self.path, self.kept)


def driver_facts():
    """Returns the driver and clocks as nvidia-smi says them; None where it does not."""
    asked = "driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit"
    try:
        result = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader", "--id=0"], text=True,
                                capture_output=True, check=True)
        return dict(zip(asked.split(","), map(str.strip, result.stdout.strip().split(","))))
    except (OSError, subprocess.CalledProcessError):
        return None


def calibrate(bench, results, state, arguments, free):
    """Returns the table of prices, made again where it has a new model."""
    calibrate = load_calibrate()
    path = os.path.join(state, "table.json")
    chosen = [gpu_table.choose(bench, results, text, free)[1] for text in arguments.models]
    slugs = sorted(model.slug for model in chosen if model)
    known = results.part("calibrate").get("models", [])
    if os.path.exists(path) and set(slugs) <= set(known):
        return path
    # Kernels are the same in each layer: two of them show all.
    few = [Model(model.config, model.batch, model.seq, 2) for model in chosen if model]
    table = calibrate.calibrate(bench, few, arguments.name, arguments.base, arguments.steps,
                                datetime.date.today().isoformat())
    if os.path.exists(path) and known:
        old = read_json(path)
        table["measured"] = {**old["measured"], **table["measured"]}
        table["kernels"] = {**old["kernels"], **table["kernels"]}
    write_json(path, table)
    results.keep("calibrate", "models", sorted(set(known) | set(slugs)))
    results.keep("calibrate", "kernels", len(table["measured"]))
    return path


def write_report(results, facts, driver, peak, source, folder, slug):
    lines = [f"# {facts['name']}\n", f"Measured by `benchmarks/gpu.sh` on {datetime.date.today().isoformat()}."]
    cuda = f"{facts['cuda'] // 1000}.{facts['cuda'] % 1000 // 10}"
    lines.append(f"Compute capability {facts['capability'] / 10:.1f}, driver for CUDA {cuda}, "
                 f"{facts['multiprocessors']} multiprocessors, {facts['total_bytes']} bytes, "
                 f"clocks of at most {facts['clock_khz'] / 1000:.0f} MHz.")
    lines.append(", ".join(f"{key} {value}" for key, value in driver.items()) + ".\n" if driver else
                 "nvidia-smi says nothing of driver and clocks.\n")
    gpu_numerics.report(results, lines.append)
    if source:
        lines.append(f"## Prices\n\n{results.part('calibrate').get('kernels', 0)} kernels; {source}.\n")
    gpu_report.report(results, peak, lines.append)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, slug + ".md")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return path


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the build folder (default: build)")
    parser.add_argument("--only", choices=PARTS, action="append", help="one of the parts (default: all)")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(gpu_table.MODELS),
                        help="names above, or CONFIG:BATCH:SEQ[:LAYERS]")
    parser.add_argument("--numerics", type=lambda text: text.split(","), default=[], metavar="CONFIGS",
                        help="compare these alone (default: tiny-gpt2, tiny-llama, tiny-mistral, tiny-qwen2)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds over all plans of a model (default: 3)")
    parser.add_argument("--steps", type=int, default=5, help="timed steps of a round (default: 5)")
    parser.add_argument("--table", help="a table of prices that replaces the calibrated one")
    parser.add_argument("--base", help="the shipped table with the device's rates (default: by its name)")
    parser.add_argument("--products", choices=["generated", "library"],
                        help="who multiplies (default: numerics by both, prices and table by generated kernels)")
    parser.add_argument("--python", default=sys.executable, help="a Python that may import torch")
    parser.add_argument("--state", help="where results are kept (default: gpu/DEVICE in the build folder)")
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "Measured"), help="default: docs/Measured")
    parser.add_argument("--run-flag", action="append", default=[], help="another flag of llmmem-run")
    parser.add_argument("--opt-flag", action="append", default=[], help="another flag of llmmem-opt, for every plan")
    arguments = parser.parse_args()
    if arguments.products:
        arguments.opt_flag += products_flags(arguments.products)
    return arguments


def main():
    arguments = parse()
    facts = Bench(arguments.build, os.path.join(arguments.build, "gpu"), "cuda", arguments.run_flag).describe()
    slug = re.sub(r"[^a-z0-9]+", "-", facts["name"].lower()).strip("-")
    slug += "-library" if arguments.products == "library" else ""
    state = arguments.state or os.path.join(arguments.build, "gpu", slug)
    is_fake = "fake driver" in facts["name"]
    folder = state if is_fake else arguments.out
    os.makedirs(state, exist_ok=True)
    arguments.run_flag += run_flags(arguments.products, state) if arguments.products else []
    bench = Bench(arguments.build, os.path.join(state, "steps"), "cuda", arguments.run_flag, arguments.opt_flag)
    results, parts = Results(os.path.join(state, "results.json")), arguments.only or PARTS
    arguments.name, free = slug, facts["free_bytes"]
    base = arguments.base or load_calibrate().datasheet_of(facts["name"])
    products = [arguments.products] if arguments.products else ["generated", "library"]
    if "numerics" in parts:
        gpu_numerics.run(bench, results, arguments.numerics, products)
    table = arguments.table or os.path.join(state, "table.json")
    if "calibrate" in parts:
        table = calibrate(bench, results, state, arguments, free)
    if "table" in parts:
        if not os.path.exists(table):
            sys.exit(f"gpu.py: there is no table of prices yet at {table}; run --only=calibrate first, or give --table")
        gpu_table.run(bench, results, table, arguments, free)
    source = read_json(table)["source"] if os.path.exists(table) else None
    peak = 1e9 * load_calibrate().shipped(bench, base)["flops_per_ns"]["bf16"] if base else None
    path = write_report(results, facts, driver_facts(), peak, source, folder, slug)
    if source:
        write_json(path[:-3] + ".prices.json", read_json(table))
    print(f"written: {path}" + ("; this was no GPU: its figures say nothing" if is_fake else ""))
    return finish(path[:-3] + ".json", {"device": facts, **results.kept})


if __name__ == "__main__":
    sys.exit(main())
