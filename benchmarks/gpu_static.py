#!/usr/bin/env python3
"""Lowers planned steps for a GPU, without one, and prints what can be known: benchmarks/gpu_static.py --build build

For GPT-2 124M and Llama-3-8B (32 layers): distinct kernels and launches; seconds for PTX and, where the CUDA toolkit is
installed, for assembling it; registers, spills and 128-bit accesses; bytes moved against the least possible; conflicts of
banks, and a model of the time of each kernel (roofline.py); and the host code executed against a driver that only writes
down what it is asked, each address compared with the plan. Nothing here was measured on a GPU. Exits with 1 where a promise
is broken.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import roofline
from promises import check, finish

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "test"))
import ptx

STUDIED = [("GPT-2 124M, batch 8, sequence 1024", "gpt2", 8, 1024, ["--dropout=0"], "6GB"),
           ("Llama-3-8B, batch 1, sequence 8192", "llama-3-8b", 1, 8192, [], "150GB")]
# What each chip multiplies by.
CHIPS = {"sm_80": "warp", "sm_90a": "warpgroup-tma"}
LAST = "sm_90a"
MOST_SECONDS, MOST_ROW_REGISTERS, MOST_TRAFFIC, MOST_CONFLICTS = 60, 64, 1.05, 2
# Products by wgmma reach at least these shares of the peak of an H100, in the model; the second is for products of so few FLOPs that filling and emptying the pipeline are a
# fifth of them.
LEAST_OF_PEAK, LEAST_OF_SMALL, SMALL_FLOPS = 0.65, 0.64, 2e10
# The same shares for products whose terms blocks of a cluster share out, by the most FLOPs: GPT-2's gradients of 768 x 768 and 768 x 2304 get at most
# 45 and 62 % by any tile, parts and shared operand (tiles.py; docs/Design/Gpu.md).
LEAST_OF_PARTS = [(1e10, 0.43), (3e10, 0.60)]
# All products reach this share of mma.sync's rate on an H100, in the model, as sums of weights with few tiles are split.
LEAST_OF_CEILING = 0.45
# Attention with heads of 128 over 8192 tokens, as Llama-3-8B has, reaches this share: the softmax of smaller heads bounds more of it.
LEAST_OF_ATTENTION, LEAST_OF_ITS_GRADIENT, LONG = 0.45, 0.35, "Llama"
# Kernels that move so many bytes reach this share of what copies reach; shorter ones are bound by latency.
LEAST_OF_DRAM, MOVED_BYTES = 0.85, 24 << 20
# These do not: rows that the data choose, and, without clusters, exact sums of few columns by few blocks.
BELOW_DRAM = {"warp": re.compile(r"_(sum_rows|embedding)"), "warpgroup-tma": re.compile(r"_embedding")}
PRODUCTS = re.compile(r"_(linear|linear_weight_grad)(_kernel|$)")
ROWS = re.compile(r"_(layer_norm|rms_norm|layer_norm_grad|rms_norm_grad|softmax|cross_entropy|rope)")
# These read some bytes several times: products and what follows them.
AGAIN = re.compile(r"_(linear|matmul|attention|loss_head)")


def timed(command, **arguments):
    start = time.monotonic()
    result = subprocess.run(command, check=True, text=True, capture_output=True, **arguments)
    return time.monotonic() - start, result


def least_of_product(launch):
    """Returns what share of the peak a product by wgmma must reach."""
    flops = 2 * launch["needed_wgmma"] * roofline.MMA
    bounds = LEAST_OF_PARTS if launch["peer_bytes"] else [(SMALL_FLOPS, LEAST_OF_SMALL)]
    return next((least for most, least in bounds if flops < most), LEAST_OF_PEAK)


def host_name(kernel):
    """Returns the host function that launches a kernel: kernel_3_linear_kernel_0 is launched by kernel_3_linear."""
    return re.sub(r"_kernel(_\d+)?$", "", kernel)


def study_ptx(ptxas, name, text, chip):
    rows, seconds = [], 0
    for _, module_chip, code in ptx.modules(text):
        check(not re.search(r"__nv_|\.extern \.func", code), f"{name}, {chip}: a function is nowhere")
        if ptxas:
            start = time.monotonic()
            rows += list(ptx.kernels(ptxas, module_chip, code))
            seconds += time.monotonic() - start
    for row in rows:
        body = row.pop("body")
        row["multiplies"] = "mma.sync" in body or "wgmma.mma_async" in body
        check(not row["spills"] and not row["local"] and not row["depot"], f"{name}, {chip}: {row['kernel']} spills")
        host = host_name(row["kernel"])
        if ROWS.search(host) or (host.endswith("_loss_head") and not row["multiplies"]):
            check(row["registers"] <= MOST_ROW_REGISTERS, f"{name}, {chip}: {row['kernel']}: {row['registers']} registers")
        if not AGAIN.search(host) and not host.endswith("_copy"):
            check(row["vector"] > 0, f"{name}, {chip}: {row['kernel']} moves nothing by 128 bits")
    return rows, seconds


def study_counts(opt, name, step, directory, tensor_cores, kernels):
    """Returns each launch of the step by kernel: its counts, and what the model makes of them on an H100."""
    path = os.path.join(directory, "counts.json")
    timed([opt, f"--convert-step-to-kernels=target=gpu tensor-cores={tensor_cores}", "--gpu-kernel-outlining", "--expand-kernel-numbers=device=true",
           "--canonicalize", "--cse", f"--report-kernel-counts=json={path}", step, "-o", "/dev/null"])
    registers = {kernel["kernel"]: kernel["registers"] for kernel in kernels}
    chip = roofline.CHIPS["h100"]
    with open(path) as file:
        launches = json.load(file)["launches"]
    for launch in launches:
        kernel = launch["kernel"]
        seconds, cycles, resident = roofline.model(chip, launch, registers.get(kernel, 128))
        reached = roofline.rate(chip, launch, registers.get(kernel, 128))
        launch |= {"seconds": seconds, "cycles": cycles, "resident": resident, "share": reached / chip.peak_rate()}
        check(launch["conflict"] <= MOST_CONFLICTS, f"{name}: {kernel} conflicts {launch['conflict']} ways")
        least = (LEAST_OF_CEILING if PRODUCTS.search(kernel) else 0 if LONG not in name else
                 LEAST_OF_ITS_GRADIENT if "_attention_grad" in kernel else LEAST_OF_ATTENTION if "_attention" in kernel else 0)
        if launch["wgmma"]:
            share, wanted = launch["share"], least_of_product(launch) if PRODUCTS.search(kernel) else least
            check(share >= wanted, f"{name}: {kernel} is modelled at {share:.0%} of the peak")
        elif launch["mma"]:
            share = reached / chip.ceiling()
            check(share >= least, f"{name}: {kernel} is modelled at {share:.0%} of mma.sync's rate")
        moved = roofline.share_of_dram(chip, launch, registers.get(kernel, 64))
        launch["of_dram"] = moved
        if not AGAIN.search(kernel) and not BELOW_DRAM[tensor_cores].search(kernel) and launch["buffer_bytes"] >= MOVED_BYTES:
            check(moved >= LEAST_OF_DRAM, f"{name}: {kernel} is modelled at {moved:.0%} of what copies reach")
    return launches


def kind_of(launch):
    kernel = launch["kernel"]
    return ("products" if PRODUCTS.search(kernel) or "_linear+" in kernel or "_linear_" in kernel else
            "attention" if "_attention" in kernel else "loss head" if "_loss_head" in kernel else
            "updates" if "_adamw" in kernel else "rest")


def print_kinds(launches):
    """Prints modelled ms of a step by kind of kernel."""
    kinds = {}
    for launch in launches:
        ms = 1e3 * launch["calls"] * launch["launches"] * launch["seconds"]
        kinds[kind_of(launch)] = kinds.get(kind_of(launch), 0) + ms
    print("\n| kind | ms |\n|---|---:|")
    for kind, ms in sorted(kinds.items(), key=lambda pair: -pair[1]):
        print(f"| {kind} | {ms:.1f} |")


def print_counts(what, launches):
    chip = roofline.CHIPS["h100"]
    print(f"{what} on {chip.name} (benchmarks/roofline.py; not measured), thousand cycles of a multiprocessor:\n\n"
          "| kernel | calls | launches | conflict | barriers | resident | tensor | waiting for it | other | shared | L2 | DRAM | adding | us | of the peak | of DRAM |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    total = 0
    for launch in launches:
        cycles = launch["cycles"]
        parts = " | ".join(f"{cycles[part] / 1e3:.0f}" for part in ("tensor", "behind", "alu", "shared", "l2", "dram", "peers"))
        share = f"{launch['share']:.0%}" if launch["mma"] + launch["wgmma"] else "-"
        total += launch["calls"] * launch["launches"] * launch["seconds"]
        print(f"| {launch['kernel']} | {launch['calls']} | {launch['launches']} | {launch['conflict']} | "
              f"{launch['barriers']:.0f} | {launch['resident']} | {parts} | {launch['seconds'] * 1e6:.0f} | {share} | {launch['of_dram']:.0%} |")
    print_kinds(launches)
    print(f"\nAll launches: {total * 1e3:.1f} ms modelled.\n")


def run_on_fakes(tools, step, log, *flags):
    """Returns the seconds to compile and capture the host code, the bytes that it takes, and what the check of all addresses says."""
    fake = os.path.join(tools, "lib", "libllmmem-fake-cuda.so")
    seconds, result = timed([os.path.join(tools, "bin", "llmmem-run"), step, "--device=cuda", f"--cuda-driver={fake}",
                             "--dry-run", *flags], env={**os.environ, "LLMMEM_FAKE_CUDA_LOG": log})
    _, checked = timed([sys.executable, os.path.join(ROOT, "test", "Cuda", "Inputs", "planned-addresses.py"), step, log])
    return {"host_seconds": seconds, "memory": result.stdout.split("\n")[0], "addresses": checked.stdout.strip()}


def study(tools, ptxas, directory, name, config, batch, seq, flags, budget):
    model, step, log, traffic = (os.path.join(directory, file) for file in ("model.mlir", "step.mlir", "log", "traffic.json"))
    opt = os.path.join(tools, "bin", "llmmem-opt")
    timed([os.path.join(tools, "bin", "llmmem-import"), os.path.join(ROOT, "examples", "configs", config + ".json"),
           f"--batch={batch}", f"--seq={seq}", "--dtype=bf16", "--optimizer=adamw", *flags, "-o", model])
    timed([opt, f"--checkpoint-budget={budget}", model, "-o", step])
    figures = {"name": name, "chips": {}}
    for chip in CHIPS:
        seconds, result = timed([opt, "--target=cuda", f"--chip={chip}", step])
        rows, assembling = study_ptx(ptxas, name, result.stdout, chip)
        figures["chips"][chip] = {"ptx_seconds": seconds, "assembling_seconds": assembling if ptxas else None, "kernels": rows}
        check(seconds + assembling < MOST_SECONDS, f"{name}, {chip}: {seconds + assembling:.0f} s to assemble")
    _, result = timed([opt, f"--convert-step-to-kernels=target=gpu tensor-cores={CHIPS[LAST]}", "--gpu-kernel-outlining",
                       f"--report-kernel-traffic=json={traffic}", step, "-o", "/dev/null"])
    with open(traffic) as file:
        figures["traffic"] = json.load(file)["kernels"]
    for row in figures["traffic"]:
        if not AGAIN.search(row["kernel"]):
            check(row["ratio"] <= MOST_TRAFFIC, f"{name}: {row['kernel']} moves {row['ratio']:.3f} of the least")
        for part in row["parts"]:
            if row["kernel"].endswith("_loss_head") and not part["multiplies"]:
                check(part["ratio"] <= MOST_TRAFFIC, f"{name}: {part['kernel']} moves {part['ratio']:.3f} of the least")
    figures["counts"] = {chip: study_counts(opt, name, step, directory, tensor_cores, figures["chips"][chip]["kernels"])
                         for chip, tensor_cores in CHIPS.items()}
    figures |= run_on_fakes(tools, step, log, "--products=generated")
    timed([opt, f"--checkpoint-budget={budget}", "--products=library", model, "-o", step])
    library = os.path.join(tools, "lib", "libllmmem-fake-cublaslt.so")
    figures["by_library"] = run_on_fakes(tools, step, log, "--products=library", f"--cublas-lt={library}")
    for chip in CHIPS:
        _, result = timed([opt, "--target=cuda", f"--chip={chip}", "--products=library", step])
        figures["by_library"][chip], _ = study_ptx(ptxas, name + ", for a library", result.stdout, chip)
    return figures


def print_study(figures):
    print(f"## {figures['name']}\n")
    print(f"{figures['memory']}; host code compiled and captured in {figures['host_seconds']:.1f} s: {figures['addresses']}\n")
    library = figures["by_library"]
    print(f"Planned for a library: {library['memory']}; {library['addresses']}; spills: "
          f"{sum(kernel['spills'] for chip in CHIPS for kernel in library[chip]) if library[LAST] else '-'}\n")
    print("| chip | kernels | PTX s | assembling s | most registers | spills |\n|---|---:|---:|---:|---:|---:|")
    for chip, row in figures["chips"].items():
        kernels = row["kernels"]
        if not kernels:
            print(f"| {chip} | - | {row['ptx_seconds']:.1f} | no ptxas | - | - |")
            continue
        print(f"| {chip} | {len(kernels)} | {row['ptx_seconds']:.1f} | {row['assembling_seconds']:.1f} | "
              f"{max(kernel['registers'] for kernel in kernels)} | {sum(kernel['spills'] for kernel in kernels)} |")
    print("\n| kernel | calls | launches | registers | shared | accesses | of 128 bits | bytes moved | least | ratio |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    last = figures["chips"][LAST]["kernels"]
    shared = {launch["kernel"]: launch["shared_bytes"] for launch in figures["counts"][LAST]}

    def print_row(row, label, calls, parts):
        static = [str(max((kernel["registers"] for kernel in parts), default="-")),
                  str(max((shared.get(kernel["kernel"], 0) for kernel in parts), default="-"))]
        static += [str(sum(kernel[key] for kernel in parts)) if parts else "-" for key in ("accesses", "vector")]
        estimate = " *" if row["estimate"] else ""
        print(f"| {label} | {calls} | {row['launches']} | {' | '.join(static)} | {row['moved']} | {row['least']} | "
              f"{row['ratio']:.3f}{estimate} |")

    for row in figures["traffic"]:
        print_row(row, row["kernel"], row["calls"], [kernel for kernel in last if host_name(kernel["kernel"]) == row["kernel"]])
        if row["kernel"].endswith("_loss_head"):
            for part in row["parts"]:
                print_row(part, "&nbsp; " + part["kernel"], "", [kernel for kernel in last if kernel["kernel"] == part["kernel"]])
    print("\n`*`: data decides how often something runs; loops of unknown length count as one turn.\n")
    for chip in CHIPS:
        print_counts(f"Kernels for {chip}, modelled", figures["counts"][chip])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--ptxas", help="the assembler (default: that on the PATH, or of /usr/local/cuda)")
    parser.add_argument("--model", default="", help="gpt2 or llama-3-8b alone")
    parser.add_argument("--json", metavar="FILE", help="write every figure for programs")
    arguments = parser.parse_args()
    ptxas = arguments.ptxas or shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not ptxas:
        print("no ptxas was found: kernels are not assembled\n")
    for what, _, _, _, error in roofline.check_published():
        check(abs(error) <= roofline.TOLERANCE, f"the model errs by {error:+.0%}: {what}")
    everything = []
    for name, config, batch, seq, flags, budget in filter(lambda one: arguments.model in ("", one[1]), STUDIED):
        with tempfile.TemporaryDirectory() as directory:
            everything.append(study(os.path.abspath(arguments.build), ptxas, directory, name, config, batch, seq, flags, budget))
        print_study(everything[-1])
    return finish(arguments.json, everything)


if __name__ == "__main__":
    sys.exit(main())
