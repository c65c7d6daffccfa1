#!/usr/bin/env python3
"""Measures this machine and writes a device table for llmmem-opt --checkpoint-device=FILE.json.

  calibrate_cpu.py [--build build] [--threads 2] [-o cpu.json]

Runs unplanned steps of GPT-2 124M and of the 10.8M model with --profile-json. The rate of f32 is that of the linear
kernels; the bandwidth is that of the kernel that moves bytes fastest; every kind of kernel then gets the number of
times that its calls took over that roofline (all of its nanoseconds by all of the roofline's). bf16 and f64 have their
own rates from two-layer models. A kind that no step has keeps the roofline.
"""

import argparse
import collections
import json
import os
import subprocess
import tempfile

from cpu_step import GPT2, ROOT, SMALL, TEXT

MODELS = [(GPT2, 4, 64, ()), (GPT2, 2, 256, ()), (SMALL, 8, 128, ()), (SMALL, 8, 256, ())]
OTHERS = {"bf16": (GPT2, 1, 64, ("--layers", 2)), "f64": (GPT2, 1, 64, ("--layers", 2))}
LAUNCH_NS = 1000


def profile(tools, folder, threads, dtype, config, batch, seq, flags):
    model, step, result = (os.path.join(folder, name) for name in ("model.mlir", "step.mlir", "profile.json"))
    command = [os.path.join(tools, "llmmem-import"), config, "--batch", batch, "--seq", seq, "--dtype", dtype,
               "--dropout", 0, *flags, "-o", model]
    subprocess.run(list(map(str, command)), check=True)
    # Plans with recomputation have every kind of kernel that any plan has, clones' groups too.
    subprocess.run([os.path.join(tools, "llmmem-opt"), "--checkpoint-policy=full", "--checkpoint-device=cpu", model,
                    "-o", step], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([os.path.join(tools, "llmmem-run"), step, "--data", TEXT, "--steps", "6", "--threads", str(threads),
                    f"--profile-json={result}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(result) as file:
        return json.load(file)["calls"]


def rate(calls, kinds, unit):
    chosen = [call for call in calls if call["kind"] in kinds]
    return sum(call[unit] for call in chosen) / sum(call["ns"] for call in chosen)


def factors(calls, flops_per_ns, bytes_per_ns):
    measured, modelled = collections.Counter(), collections.Counter()
    for call in calls:
        roofline = max(call["flops"] / flops_per_ns, call["bytes"] / bytes_per_ns)
        if roofline > 0:
            measured[call["kind"]] += max(call["ns"] - LAUNCH_NS, 1)
            modelled[call["kind"]] += roofline
    return {kind: round(measured[kind] / modelled[kind], 3) for kind in sorted(measured)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--name", default="cpu")
    parser.add_argument("-o", dest="output", default="cpu.json")
    arguments = parser.parse_args()
    tools = os.path.join(os.path.abspath(arguments.build), "bin")
    linear = {"linear", "linear_weight_grad"}
    with tempfile.TemporaryDirectory() as folder:
        calls = [call for model in MODELS for call in profile(tools, folder, arguments.threads, "f32", *model)]
        rates = {dtype: max(1, round(rate(profile(tools, folder, arguments.threads, dtype, *model), linear, "flops")))
                 for dtype, model in OTHERS.items()}
    rates["f32"] = round(rate(calls, linear, "flops"))
    by_kind = collections.defaultdict(list)
    for call in calls:
        by_kind[call["kind"]].append(call)
    large = {kind for kind, some in by_kind.items() if sum(call["bytes"] for call in some) > 1e9}
    bandwidth = max(1, round(max(rate(calls, {kind}, "bytes") for kind in large)))
    cores = f"{arguments.threads} threads" if arguments.threads > 1 else "1 thread"
    table = {"name": arguments.name, "source": f"benchmarks/calibrate_cpu.py, {cores}",
             "flops_per_ns": {key: rates[key] for key in ("bf16", "f32", "f64")}, "bytes_per_ns": bandwidth,
             "launch_ns": LAUNCH_NS, "kernels": factors(calls, rates["f32"], bandwidth)}
    with open(arguments.output, "w") as file:
        json.dump(table, file, indent=1)
        file.write("\n")
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
