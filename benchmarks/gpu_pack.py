#!/usr/bin/env python3
"""Writes what a machine with a GPU needs to be measured, without LLVM or a compiler there: gpu_pack.py FOLDER

One folder: the planned steps of the models as data, machine code of their kernels (llmmem-bundle), the runner
(llmmem-replay), and gpu_bundle.py, which runs them there in an order of worth:
  python3 FOLDER/gpu_bundle.py --minutes 9 --out results
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

import device_tables
from gpu_table import MODELS, flops_of
from steps import ROOT, TEXT, Bench, Model, NoPlan, needed, products_flags, read_json, workers, write_json

# Percent are of the bytes that the unplanned step saves; full: everything is recomputed.
GPT2 = ["none", "80", "60", "40", "20", "full", "min"]
# All layers on a card of 141 GB; as many as leave room on one of 80.
LLAMA = [(32, "138GB"), (14, "72GB")]
# The device's losses are compared with those of these models: steps of small models with real heads and vocabularies, by the CPU in f32. The
# name of a config, or a config; batch, sequence, layers.
HEADS_OF_128 = {"model_type": "llama", "hidden_act": "silu", "hidden_size": 512, "num_attention_heads": 4,
                "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 1376, "vocab_size": 4099,
                "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
EXPECTED, EXPECTED_STEPS = [("gpt2", 1, 512, 2), ("heads-of-128", 1, 1024, 2)], 4
SCRIPTS = ["benchmarks/gpu_bundle.py", "benchmarks/bundle_items.py", "benchmarks/bundle_report.py", "benchmarks/torch_step.py",
           "benchmarks/bundle_kernels.py", "benchmarks/op_reference.py", "benchmarks/whole_files.py"]
# A library rounds after what it computes together with a product: budgets are compared bit for bit where they choose alike.
PLANNING = {"library": products_flags("library") + ["--epilogues=fused"], "generated": products_flags("generated")}


class Plan:
    """A step of the bundle: a model under a budget, planned for who multiplies. `expected`: with losses of the CPU;
    `headline`: what the report begins with."""

    def __init__(self, title, model, label, products, flags=(), expected=False, headline=False):
        self.headline = headline
        self.title, self.model, self.label, self.products, self.flags = title, model, label, products, list(flags)
        self.name, self.expected = f"{model.slug}.{label}.{products}", expected


def plans_of(text, products):
    """Returns the plans of a name of MODELS, or of CONFIG:BATCH:SEQ[:LAYERS] as those of gpt2."""
    config, *numbers = text.split(":")
    title, batch, seq = MODELS.get(config, (config, 1, 64))
    if len(numbers) >= 2:
        batch, seq = int(numbers[0]), int(numbers[1])
    if config == "llama-3-8b" and not numbers:
        return [Plan(f"{title}, {layers} layers", Model(config, batch, seq, layers), budget, which,
                     [f"--checkpoint-budget={budget}"], headline=(layers, budget) == LLAMA[0]) for layers, budget in LLAMA for which in products]
    model = Model(config, batch, seq, int(numbers[2]) if len(numbers) > 2 else None)
    return [Plan(title, model, label, which) for which in products for label in GPT2]


def expected_plans(bench, products):
    """Returns the steps whose losses the CPU computes."""
    write_json(bench.place("heads-of-128.json"), HEADS_OF_128)
    configs = {"heads-of-128": bench.place("heads-of-128.json")}
    return [Plan(name, Model(configs.get(name, name), batch, seq, layers), "none", which, expected=True)
            for name, batch, seq, layers in EXPECTED for which in products]


def expected_losses(bench, model):
    """Computes the losses on the CPU in f32, and keeps them next to the plan."""
    whole = Model(model.config, model.batch, model.seq, model.layers, dtype="f32")
    step, _ = bench.plan(whole, "none", bench.table, "--checkpoint-policy=none")
    path = step + ".losses"
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(step):
        lines = bench.run("llmmem-run", step, "--data", TEXT, "--steps", EXPECTED_STEPS, "--json", "--no-digest",
                          "--progress-seconds", 1e6).splitlines()
        write_json(path, [json.loads(line)["loss"] for line in lines])
    return read_json(path)


def flag_of(bench, plan):
    """Returns the flag that asks for the plan's budget."""
    if plan.flags:
        return plan.flags[0]
    if plan.label in ("none", "full"):
        return f"--checkpoint-policy={plan.label}"
    if plan.label == "min":
        return "--checkpoint-budget=min"
    _, whole = bench.plan(plan.model, f"none.{plan.products}", bench.table, "--checkpoint-policy=none", *PLANNING[plan.products])
    saved = whole["saved"]["bytes"]
    return f"--checkpoint-budget={needed(whole) - saved * (100 - int(plan.label)) // 100}"


def pack(bench, plan, folder, flags):
    """Writes one step, and returns its entry of the bundle's list, or None where no plan keeps so few bytes."""
    try:
        step, report = bench.plan(plan.model, f"{plan.label}.{plan.products}", bench.table, flag_of(bench, plan),
                                  *PLANNING[plan.products])
    except NoPlan:
        print(f"{plan.name}: no plan keeps so few bytes", file=sys.stderr)
        return None
    # A plan for generated products has no workspace that a library could use.
    both = "both" if plan.products == "library" else "generated"
    file = os.path.join("steps", plan.name + ".json")
    bench.run("llmmem-bundle", step, f"--report={step}.json", f"--products={both}", "--kernels=../kernels", *flags,
              "-o", os.path.join(folder, file))
    print(f"packed {plan.name}", flush=True)
    model = plan.model
    return {"name": plan.name, "file": file, "title": plan.title, "model": model.slug, "label": plan.label,
            "products": plan.products, "needed": needed(report), "saved": report["saved"]["bytes"],
            "predicted_ns": report["step"]["time_ns"] + report["recompute"]["time_ns"], "recomputed": report["recompute"]["ops"],
            "tokens": model.batch * model.seq, "flops": flops_of(model), "batch": model.batch, "seq": model.seq,
            "expected": expected_losses(bench, model) if plan.expected else None, "layers": model.layers, "headline": plan.headline,
            "config": os.path.join("configs", os.path.basename(model.config))}


def copy_rest(bench, build, folder, entries):
    os.makedirs(os.path.join(folder, "configs"), exist_ok=True)
    runner = os.path.join(folder, "llmmem-replay")
    shutil.copy(os.path.join(build, "bin", "llmmem-replay"), runner)
    for path in SCRIPTS:
        shutil.copy(os.path.join(ROOT, path), folder)
    shutil.copy(TEXT, os.path.join(folder, "text.txt"))
    for config in {entry["config"] for entry in entries}:
        own = os.path.join(ROOT, "examples", config)
        shutil.copy(own if os.path.exists(own) else bench.place(os.path.basename(config)), os.path.join(folder, config))


def size_of(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the build folder (default: build)")
    parser.add_argument("--models", type=lambda text: text.split(","), default=["gpt2", "llama-3-8b"],
                        help="gpt2, llama-3-8b, or CONFIG:BATCH:SEQ[:LAYERS] (default: both)")
    parser.add_argument("--products", type=lambda text: text.split(","), default=list(PLANNING),
                        help="whom plans are made for (default: library,generated)")
    parser.add_argument("--most-mib", type=int, default=58, help="the most MiB of the folder (default: 58)")
    parser.add_argument("--ptxas", help="the toolkit's assembler; none: kernels stay PTX (default: where it is found)")
    parser.add_argument("--chips", help="what the kernels run on (default: sm_80,sm_90a)")
    parser.add_argument("--device-table", default="h100", help="the name or file of the table that plans are priced by (default: h100)")
    parser.add_argument("--no-expect", dest="expect", action="store_false",
                        help="leave out the steps whose losses the CPU says, which takes minutes")
    arguments = parser.parse_args()
    folder = arguments.folder
    if os.path.exists(folder) and os.listdir(folder):
        sys.exit(f"gpu_pack: {folder} is not empty")
    for part in ("steps", "kernels"):
        os.makedirs(os.path.join(folder, part))
    # A gradient that is given back at its update takes no bytes of its own: 16 GB of Llama-3-8B.
    bench = Bench(arguments.build, os.path.join(arguments.build, "gpu", "pack"), "cuda",
                  import_flags=["--gradients=transient"])
    bench.table = arguments.device_table
    flags = [f"--{name}={value}" for name, value in (("ptxas", arguments.ptxas), ("chips", arguments.chips)) if value]
    plans = [plan for text in arguments.models for plan in plans_of(text, arguments.products)]
    plans += expected_plans(bench, arguments.products) if arguments.expect else []
    # The unplanned steps first, which the others are percents of.
    first = [plan for plan in plans if plan.label == "none"]
    with concurrent.futures.ThreadPoolExecutor(workers()) as pool:
        packed = dict(zip(first, pool.map(lambda plan: pack(bench, plan, folder, flags), first)))
        rest = [plan for plan in plans if plan not in packed]
        packed.update(zip(rest, pool.map(lambda plan: pack(bench, plan, folder, flags), rest)))
    entries = [packed[plan] for plan in plans if packed[plan]]
    copy_rest(bench, arguments.build, folder, entries)
    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True, capture_output=True).stdout.strip()
    write_json(os.path.join(folder, "bundle.json"),
               {"format": "llmmem-gpu-bundle", "version": 1, "revision": revision, "steps": entries,
                "peaks": {name: device_tables.peak_of(name) for name in ("h100", "h200", "a100")}})
    size = size_of(folder)
    print(f"{len(entries)} steps, {size} bytes in {folder}")
    if size > arguments.most_mib << 20:
        sys.exit(f"gpu_pack: {size} bytes are more than {arguments.most_mib} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
