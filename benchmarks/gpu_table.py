"""Speed, bytes and the price of recomputation of whole steps on a GPU: the last part of gpu.py."""
import concurrent.futures
import json
import os
import subprocess
import sys

from promises import check
from steps import ROOT, Model, NoPlan, needed, workers

MODELS = {"gpt2": ("GPT-2 124M", 8, 1024), "gpt2-medium": ("GPT-2 350M", 8, 1024), "gpt2-large": ("GPT-2 774M", 8, 1024),
          "gpt2-xl": ("GPT-2 1.5B", 8, 1024), "llama-3-8b": ("Llama-3-8B", 1, 8192)}
MOST_LAYERS = {"llama-3-8b": 32}  # as many of them as fit
MOST_BYTES_ERROR, MOST_COST_ERROR = 0.01, 0.15
# Code, the graph and the driver's own come on top of what the plan counts.
LEFT_FREE = 1 << 30
TORCH_MODES = ["eager", "compiled", "checkpointed"]


def layers_that_fit(bench, config, batch, seq, most, free):
    """Returns the most layers whose unplanned step leaves a GiB: by bisection, as bytes grow with layers."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        _, report = bench.plan(Model(config, batch, seq, middle), "fit", "h100", "--checkpoint-policy=none")
        if needed(report) + LEFT_FREE <= free:
            least = middle
        else:
            most = middle - 1
    return least


def choose(bench, results, text, free):
    """Returns (title, model) of a name of MODELS, or of CONFIG:BATCH:SEQ[:LAYERS]; no model where not one layer fits."""
    config, *numbers = text.split(":")
    title, batch, seq = MODELS.get(config, (config, 1, 64))
    if len(numbers) >= 2:
        batch, seq = int(numbers[0]), int(numbers[1])
    layers = int(numbers[2]) if len(numbers) > 2 else None
    if layers is None and config in MOST_LAYERS:
        kept = results.part("layers")
        if text not in kept:
            results.keep("layers", text, layers_that_fit(bench, config, batch, seq, MOST_LAYERS[config], free))
        layers = kept[text]
        if layers == 0:
            return title, None
    return title + (f", {layers} layers" if layers else ""), Model(config, batch, seq, layers)


def flops_of(model):
    """Returns the model FLOPs of a step, after Chowdhery et al. 2022 (PaLM), appendix B: 6 for each weight that is multiplied and each
    token, and attention's two products, forward and twice backward, of which a causal model needs half."""
    facts = model.facts()
    width = facts.get("n_embd") or facts["hidden_size"]
    layers = model.layers or facts.get("n_layer") or facts["num_hidden_layers"]
    if "n_embd" in facts:
        weights = 12 * width * width
        attended = width
    else:
        heads = facts["num_attention_heads"]
        head = facts.get("head_dim") or width // heads
        attended = heads * head
        weights = 2 * width * attended + 2 * width * facts["num_key_value_heads"] * head + 3 * width * facts["intermediate_size"]
    tokens = model.batch * model.seq
    return tokens * (6 * (layers * weights + width * facts["vocab_size"]) + 6 * layers * model.seq * attended)


def plans_of(bench, model, table):
    """Returns (label, step, report) at 100 to 25 percent of the bytes that the unplanned step saves, and of every layer recomputed;
    a step of None where no plan keeps so few bytes."""
    step, whole = bench.plan(model, "100", table, "--checkpoint-policy=none")

    def plan(label, name, flag):
        try:
            return (label, *bench.plan(model, name, table, flag))
        except NoPlan:
            return label, None, None

    others = [(f"{percent} %", str(percent),
               f"--checkpoint-budget={needed(whole) - whole['saved']['bytes'] * (100 - percent) // 100}")
              for percent in (75, 50, 25)] + [("every layer again", "full", "--checkpoint-policy=full")]
    with concurrent.futures.ThreadPoolExecutor(workers()) as pool:
        return [("100 %", step, whole), *pool.map(lambda other: plan(*other), others)]


def time_of(report):
    return report["step"]["time_ns"] + report["recompute"]["time_ns"]


def torch_row(bench, model, mode, python, steps):
    """Returns what PyTorch takes for the same step, or why nothing is known."""
    if not model.facts().get("model_type") in ("gpt2", "llama"):
        return {"why": "benchmarks/torch_step.py has no such model"}
    command = [python, os.path.join(ROOT, "benchmarks", "torch_step.py"), "--config", model.config, "--batch", model.batch,
               "--seq", model.seq, "--mode", mode, "--steps", steps, "--device", "cuda"]
    command += ["--layers", model.layers] if model.layers else []
    result = subprocess.run(list(map(str, command)), text=True, capture_output=True)
    if result.returncode:
        return {"why": (result.stderr.strip().splitlines() or ["it ended without a word"])[-1][:120]}
    return json.loads(result.stdout.splitlines()[-1])


def measure(bench, results, model, table, arguments):
    """Runs what has not run yet: rounds go over all plans, so that a slow minute is everyone's."""
    plans = plans_of(bench, model, table)
    rows = results.part("table").get(model.slug, {"plans": {}, "torch": {}})
    for label, step, report in plans:
        row = rows["plans"].setdefault(label, {"rounds": []})
        if not step:
            row["why"] = "no plan keeps so few bytes"
            continue
        facts = {"needed": needed(report), "saved": report["saved"]["bytes"], "time_ns": time_of(report),
                 "recomputed": report["recompute"]["ops"], "device": report["device"]}
        if row.get("facts", facts) != facts:
            row["rounds"] = []  # another plan than the one that was timed
        row["facts"] = facts
    for number in range(arguments.repeats):
        for label, step, _ in plans:
            if step and len(rows["plans"][label]["rounds"]) <= number:
                print(f"{model.slug}, {label}, round {number + 1}", flush=True)
                rows["plans"][label]["rounds"].append(bench.time(step, arguments.steps))
                results.keep("table", model.slug, rows)
    for mode in TORCH_MODES:
        if "seconds" not in rows["torch"].get(mode, {}):
            rows["torch"][mode] = torch_row(bench, model, mode, arguments.python, arguments.steps)
    results.keep("table", model.slug, rows)


def run(bench, results, table, arguments, free):
    for text in arguments.models:
        title, model = choose(bench, results, text, free)
        if not model:
            print(f"{title}: not one layer fits {free} free bytes", file=sys.stderr)
            continue
        results.keep("titles", model.slug, {"title": title, "flops": flops_of(model), "tokens": model.batch * model.seq,
                                            "batch": model.batch, "seq": model.seq})
        measure(bench, results, model, table, arguments)
