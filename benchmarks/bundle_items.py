"""What gpu_bundle.py measures, an item at a time. Standard library alone: it runs where nothing of ours is installed."""
import csv
import glob
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

# A run has a digest of all parameters after each step, for which the card waits, so it keeps its full clock. Rounds have none, and so
# many steps that the clock has settled by the second half, of which the times are: a card lowers it to hold its power.
STEPS, STEPS_OF_ROUND, ROUNDS, NO_DEVICE = 20, 100, 3, 3
# Every model but the first runs fewer steps: a step of 8 billion parameters takes a second.
STEPS_OF_OTHERS = 8
# One item must not take the time of all.
MOST_SECONDS, MOST_TORCH_SECONDS = 240, 120
# Code, the graph and the driver's own come on top of what the plan counts.
LEFT_FREE = 1 << 30
TORCH_MODES = ["eager", "compiled", "checkpointed", "both"]
# NVIDIA's profiler and sanitizer, where the toolkit is or is not on the PATH.
TOOLS = ["/usr/local/cuda*/bin", "/opt/nvidia/nsight-compute/*", "/usr/local/cuda*/compute-sanitizer"]
SANITIZERS = ["memcheck", "synccheck", "racecheck"]
DEAREST, METRICS = 5, ["gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                       "dram__throughput.avg.pct_of_peak_sustained_elapsed", "lts__throughput.avg.pct_of_peak_sustained_elapsed",
                       "sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread",
                       "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]


class OutOfTime(Exception):
    """Raised where the item did not run, or did not end."""


class NoDevice(Exception):
    """Raised where there is no GPU, or no driver."""


class Failed(Exception):
    """Raised where the item ran and failed; the message is the reason."""


def environment():
    """Returns where PyTorch's wheels have NVIDIA's libraries."""
    values = dict(os.environ)
    spec = importlib.util.find_spec("nvidia")
    folders = [folder for place in (spec.submodule_search_locations if spec else ())
               for folder in sorted(glob.glob(os.path.join(place, "*", "lib")))]
    known = values.get("LLMMEM_CUDA_PATH")
    if folders:
        values["LLMMEM_CUDA_PATH"] = os.pathsep.join(([known] if known else []) + folders)
    return values


class Machine:
    """The bundle's programs, as long as there is time."""

    def __init__(self, folder, flags, python, end, out, tools, torch_device):
        self.folder, self.flags, self.python, self.end, self.out, self.tools = folder, flags, python, end, out, tools
        self.torch_device = torch_device
        self.environment = environment()

    def left(self):
        return self.end - time.monotonic()

    def run(self, command, least=2, most=MOST_SECONDS):
        """Returns what the command writes to stdout. A command that would not end in time is stopped, and runs again another time; one
        that takes more than `most` seconds fails, and leaves time to the others."""
        left = self.left()
        if left < least:
            raise OutOfTime()
        try:
            done = subprocess.run(list(map(str, command)), text=True, capture_output=True, env=self.environment,
                                  timeout=min(left, most))
        except subprocess.TimeoutExpired:
            raise (OutOfTime() if left < most else Failed(f"it takes more than {most} seconds")) from None
        except OSError as error:
            raise Failed(str(error)) from None
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if "ERROR" in line]
            why = said or (done.stderr.strip() or "it ended without a word").splitlines()
            raise Failed(f"exit code {done.returncode}: {why[0 if said else -1][:400]}")
        return done.stdout

    def replay_command(self, *flags):
        """All runs compute a form of product by one algorithm, which the first of them has timed."""
        kept = "--product-algorithms=" + os.path.join(self.out, "algorithms")
        return [os.path.join(self.folder, "llmmem-replay"), kept, *self.flags, *flags]

    def replay(self, *flags, **how):
        return self.run(self.replay_command(*flags), **how)

    def step(self, entry):
        return os.path.join(self.folder, entry["file"])

    def data(self):
        return "--data=" + os.path.join(self.folder, "text.txt")


def find_tool(machine, name):
    """Returns a tool of the CUDA toolkit; raises Failed where it is not there."""
    elsewhere = (path for place in TOOLS for path in sorted(glob.glob(os.path.join(place, name))))
    found = shutil.which(name, path=machine.tools) or shutil.which(name) or next(elsewhere, None)
    if not found:
        raise Failed(f"{name} is not there")
    return found


def first_line(command):
    try:
        return subprocess.run(command, text=True, capture_output=True, timeout=60).stdout.strip().splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return None


def facts(machine):
    """Returns the device, its driver and clocks, and what copies reach."""
    try:
        device = json.loads(machine.replay("--describe-device"))
    except Failed as why:
        raise NoDevice(str(why)) from None
    asked = "driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit"
    line = first_line(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader", "--id=0"])
    said = dict(zip(asked.split(","), map(str.strip, line.split(",")))) if line else None
    # It may be a person's own torch, which -I would not find; what lies in the current folder is not meant.
    torch = first_line([machine.python, "-c", "import sys; sys.path = [place for place in sys.path if place]; "
                        "import torch; print(torch.__version__)"])
    return {"device": device, "nvidia_smi": said, "copies": json.loads(machine.replay("--probe-copies")),
            "python": platform.python_version(), "torch": torch, "date": time.strftime("%Y-%m-%d")}


def probe(machine, entry, products):
    """Runs every form of product of a step by itself."""
    lines = machine.replay(machine.step(entry), "--probe-products", f"--products={products}", least=20).splitlines()
    return {"rows": [json.loads(line) for line in lines]}


def products_of(entry):
    """Returns the flags that choose what multiplies. A plan for a library uses it where it is found, else generated products, and says which."""
    return [] if entry["products"] == "library" else ["--products=generated"]


def fits(entry, device):
    return entry["needed"] + LEFT_FREE <= device["free_bytes"]


def train(machine, entry, steps=STEPS, digest=True):
    """Runs steps. Returns losses, the digest of all parameters at the end, times and bytes."""
    flags = ["--json", machine.data(), f"--steps={steps}", *products_of(entry)]
    lines = [json.loads(line) for line in
             machine.replay(machine.step(entry), *flags, *([] if digest else ["--no-digest"]), least=20).splitlines()]
    settled = lines[len(lines) // 2:]
    return {"losses": [line["loss"] for line in lines], "digest": lines[-1].get("digest"), "by": lines[-1]["products"],
            "device_seconds": statistics.median(line["device_seconds"] for line in settled),
            "seconds": statistics.median(line["seconds"] for line in settled), "bytes": lines[-1]["device_measured"],
            "memory": lines[-1]["memory"]}


def kernels(machine, entry):
    """Runs every distinct op by itself, except products by a library and attention, and compares it with float64 by PyTorch."""
    driver = next((flag.split("=", 1)[1] for flag in machine.flags if flag.startswith("--cuda-driver=")), "libcuda.so.1")
    seconds = min(machine.left(), MOST_SECONDS) - 20
    if seconds < 10:
        raise OutOfTime()
    lines = machine.run([machine.python, os.path.join(machine.folder, "bundle_kernels.py"), machine.step(entry), "--driver", driver,
                         "--device", machine.torch_device, f"--seconds={seconds:.0f}"], least=30).splitlines()
    return {"rows": [json.loads(line) for line in lines]}


def sanitize(machine, entry, tool):
    """Returns whether compute-sanitizer finds a fault in the generated kernels of a small step."""
    run = machine.replay_command(machine.step(entry), "--products=generated", machine.data(), "--steps=1", "--json", "--no-digest")
    said = machine.run([find_tool(machine, "compute-sanitizer"), "--tool", tool, "--error-exitcode", 9, *run], least=30)
    # racecheck speaks of hazards: "RACECHECK SUMMARY".
    summary = [line for line in said.splitlines() if line.startswith("=") and "SUMMARY" in line]
    if not summary:
        raise Failed("compute-sanitizer has not said what it found")
    return {"summary": summary[-1].strip("= ")}


def kernels_of(machine, entry, keys):
    """Returns the names of the kernels that ops of these keys launch, by generated kernels."""
    with open(machine.step(entry)) as file:
        programs = [one for one in json.load(file)["programs"] if one["products"] == "generated"]
    names, op = {}, None
    for program in programs:  # of each chip; the profiler takes those that it meets
        for call in program["calls"]:
            if call[0] == "mark":
                op = program["timed"][call[1]]["key"] if call[1] < len(program["timed"]) else None
            elif call[0] == "launch" and op in keys:
                names.setdefault(program["kernels"][call[1]]["name"])
    return list(names)


def dearest(machine, entry):
    """Returns what NVIDIA's profiler says of the kernels of the ops that take most of a step."""
    path = os.path.join(machine.out, entry["name"] + ".generated.profile.json")
    run = [machine.step(entry), "--products=generated", "--json", "--no-digest", machine.data(), f"--profile-json={path}"]
    machine.replay(*run, "--steps=3", least=30)
    by_key = {}
    with open(path) as file:
        for call in json.load(file)["calls"]:
            by_key[call["key"]] = by_key.get(call["key"], 0) + call["ns"]
    keys = sorted((key for key in by_key if key), key=lambda key: -by_key[key])[:DEAREST]
    names = kernels_of(machine, entry, keys)
    # One launch of each: others are of the same shape.
    # The clocks stay as they are: the profiler would hold them at the base clock, which the runs have not.
    command = [find_tool(machine, "ncu"), "--clock-control", "none", "--csv", "--page", "raw", "--kernel-name-base", "function", "--kernel-name",
               "regex:^(" + "|".join(names) + ")$", "--launch-count", 3 * len(names), "--metrics", ",".join(METRICS)]
    return {"rows": rows_of_ncu(machine.run([*command, *machine.replay_command(*run, "--steps=1")], least=60))}


def rows_of_ncu(text):
    """Returns the first launch of each kernel, from the profiler's CSV: a line of names, one of units, one a launch."""
    # The program's own lines stand before it.
    lines = list(csv.reader(text.splitlines()))
    head = next((number for number, line in enumerate(lines) if "Kernel Name" in line), len(lines))
    if head + 2 >= len(lines):
        raise Failed("ncu has said nothing of these kernels")
    rows = {}
    for line in lines[head + 2:]:
        named = dict(zip(lines[head], line))
        rows.setdefault(named["Kernel Name"], {metric: named.get(metric) for metric in METRICS})
    return rows


def prices(machine, entry, steps):
    """Returns what each op adds to a replay of the step, which calibrate takes (--calls), after so many steps that the card's clock has
    settled: prices of short runs are too low for long ones."""
    path = os.path.join(machine.out, entry["name"] + ".prices.json")
    line = machine.replay(machine.step(entry), "--json", "--no-digest", machine.data(), f"--steps={steps}", *products_of(entry),
                          f"--prices-json={path}", least=20).splitlines()[-1]
    with open(path) as file:
        calls = json.load(file)["calls"]
    return {"file": os.path.basename(path), "ops": len(calls), "ns": sum(call["ns"] for call in calls),
            "step_ns": round(1e9 * json.loads(line)["device_seconds"])}


def profile(machine, entry):
    """Returns the time by kind of kernel, of events between the calls of a step."""
    path = os.path.join(machine.out, entry["name"] + ".profile.json")
    machine.replay(machine.step(entry), "--json", "--no-digest", machine.data(), "--steps=4", *products_of(entry),
                   f"--profile-json={path}", least=20)
    with open(path) as file:
        calls = json.load(file)["calls"]
    kinds = {}
    for call in calls:
        kind = ("again " if call["recomputed"] else "") + call["kind"]
        row = kinds.setdefault(kind, {"calls": 0, "ns": 0, "flops": 0, "bytes": 0})
        row["calls"] += 1
        for key in ("ns", "flops", "bytes"):
            row[key] += call[key]
    return {"kinds": kinds, "ns": sum(call["ns"] for call in calls)}


def torch_step(machine, entry, mode):
    """Runs the same step in PyTorch; where that runs out of memory, a step of fewer layers."""
    script, config = (os.path.join(machine.folder, name) for name in ("torch_step.py", entry["config"]))
    command = [machine.python, script, "--config", config, "--batch", entry["batch"], "--seq", entry["seq"], "--mode", mode,
               "--steps", 10, "--device", machine.torch_device, "--precision", "masters"]
    with open(config) as file:
        facts = json.load(file)
    layers = entry["layers"] or facts.get("n_layer") or facts["num_hidden_layers"]
    # Each in a process of its own, as one that ran out of memory leaves it in pieces.
    for fewer in (layers, layers * 7 // 8, layers * 3 // 4, layers // 2):
        try:
            said = machine.run([*command, "--layers", fewer], least=60, most=MOST_TORCH_SECONDS)
            return {**json.loads(said.splitlines()[-1]), "layers": fewer, "of": layers}
        except Failed as why:
            if "out of memory" not in str(why) or fewer == layers // 2:
                raise


def worth(entries):
    """Returns (key, what, entry) of all items, best first; `what` takes the machine and the facts."""
    by_model = {}
    for entry in (entry for entry in entries if not entry.get("expected")):
        by_model.setdefault(entry["model"], []).append(entry)
    models = list(by_model.values())
    items = []

    def add(key, what):
        items.append((key, what))

    def whole(model, products):
        return next((entry for entry in model if entry["products"] == products), None)

    def settling(model):
        return STEPS_OF_ROUND if model is models[0] else STEPS_OF_OTHERS

    for model in models[:1]:
        add_probes(add, model)
    for model in models:
        add_kernels(add, model)
    small = [entry for entry in entries if entry.get("expected")]
    for entry in small:
        add(f"check {entry['name']}",
            lambda machine, entry=entry: train(machine, entry, steps=len(entry["expected"]), digest=False))
    # Every model's before what they are compared with: one that no one else's step fits is what the day is for.
    for model in models:
        for entry in sorted(model, key=lambda entry: entry["products"] != "library"):
            add(f"run {entry['name']}",
                lambda machine, entry=entry, first=model is models[0]:
                    train(machine, entry, STEPS if first else STEPS_OF_OTHERS, digest=first))
    for model in models:
        for mode in TORCH_MODES:
            add(f"torch {model[0]['model']} {mode}",
                lambda machine, entry=model[0], mode=mode: torch_step(machine, entry, mode))
        for products in ("library", "generated"):
            if whole(model, products):
                add(f"profile {whole(model, products)['name']}",
                    lambda machine, entry=whole(model, products): profile(machine, entry))
            for entry in priced(model, products):
                add(f"prices {entry['name']}",
                    lambda machine, entry=entry, steps=settling(model): prices(machine, entry, steps))
        if whole(model, "generated"):
            add(f"ncu {whole(model, 'generated')['name']}",
                lambda machine, entry=whole(model, "generated"): dearest(machine, entry))
    for model in models[1:]:
        add_probes(add, model)
    for tool in SANITIZERS:
        for entry in (entry for entry in small if entry["products"] == "generated"):
            add(f"{tool} {entry['name']}", lambda machine, entry=entry, tool=tool: sanitize(machine, entry, tool))
    for number in range(2, ROUNDS + 1):
        for model in models:
            for entry in model:
                add(f"round {number} {entry['name']}",
                    lambda machine, entry=entry, steps=settling(model): train(machine, entry, steps, digest=False))
    return items


def priced(model, products):
    """Returns the plans that recompute least and most: the second has ops in forms of its own, as gelu apart from its product."""
    plans = sorted((entry for entry in model if entry["products"] == products), key=lambda entry: entry["recomputed"])
    return [plans[0], plans[-1]] if len(plans) > 1 else plans


def add_kernels(add, model):
    entry = next((entry for entry in model if entry["products"] == "generated"), None)
    if entry:
        add(f"kernels {entry['name']}", lambda machine: kernels(machine, entry))


def add_probes(add, model):
    entry = next((entry for entry in model if entry["products"] == "library"), None)
    for products in ("library", "generated") if entry else ():
        add(f"products {model[0]['model']} {products}", lambda machine, products=products: probe(machine, entry, products))


def entry_of(key, entries):
    """Returns the step that an item runs; None for one that runs none."""
    name = key.split()[-1]
    if key.startswith("products "):
        return next(entry for entry in entries if entry["model"] == key.split()[1] and entry["products"] == "library")
    return next((entry for entry in entries if entry["name"] == name), None)


if __name__ == "__main__":
    sys.exit("bundle_items is what gpu_bundle.py runs")
