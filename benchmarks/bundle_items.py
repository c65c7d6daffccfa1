"""What gpu_bundle.py measures, an item at a time. Standard library alone: it runs where nothing of ours is installed."""
import glob
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time

STEPS, ROUNDS, NO_DEVICE = 20, 3, 3
# One item must not take the time of all.
MOST_SECONDS, MOST_TORCH_SECONDS = 240, 120
# Code, the graph and the driver's own come on top of what the plan counts.
LEFT_FREE = 1 << 30
TORCH_MODES = ["eager", "compiled", "checkpointed"]


class OutOfTime(Exception):
    """The item was not run, or not to its end."""


class NoDevice(Exception):
    """There is no GPU, or no driver."""


class Failed(Exception):
    """The item ran and failed: the reason."""


def environment():
    """Where PyTorch's wheels have NVIDIA's libraries."""
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

    def __init__(self, folder, flags, python, end):
        self.folder, self.flags, self.python, self.end = folder, flags, python, end
        self.environment = environment()

    def left(self):
        return self.end - time.monotonic()

    def run(self, command, least=2, most=MOST_SECONDS):
        """What the command has written to stdout. One that would not end in time is ended, and runs again another time; one
        that takes more than `most` seconds has failed, and leaves time to the others."""
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
            why = (done.stderr.strip() or "it ended without a word").splitlines()
            raise Failed(f"exit code {done.returncode}: {why[-1][:400]}")
        return done.stdout

    def replay(self, *flags, **how):
        return self.run([os.path.join(self.folder, "llmmem-replay"), *self.flags, *flags], **how)

    def step(self, entry):
        return os.path.join(self.folder, entry["file"])

    def data(self):
        return "--data=" + os.path.join(self.folder, "text.txt")


def first_line(command):
    try:
        return subprocess.run(command, text=True, capture_output=True, timeout=60).stdout.strip().splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return None


def facts(machine):
    """The device, its driver and clocks, and what copies reach."""
    try:
        device = json.loads(machine.replay("--describe-device"))
    except Failed as why:
        raise NoDevice(str(why)) from None
    asked = "driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit"
    line = first_line(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader", "--id=0"])
    said = dict(zip(asked.split(","), map(str.strip, line.split(",")))) if line else None
    torch = first_line([machine.python, "-c", "import torch; print(torch.__version__)"])
    return {"device": device, "nvidia_smi": said, "copies": json.loads(machine.replay("--probe-copies")),
            "python": platform.python_version(), "torch": torch, "date": time.strftime("%Y-%m-%d")}


def probe(machine, entry, products):
    """Every form of product of a step by itself."""
    lines = machine.replay(machine.step(entry), "--probe-products", f"--products={products}", least=20).splitlines()
    return {"rows": [json.loads(line) for line in lines]}


def products_of(entry):
    """A plan for a library takes its products where it is found, else generated ones, and says which it was."""
    return [] if entry["products"] == "library" else ["--products=generated"]


def fits(entry, device):
    return entry["needed"] + LEFT_FREE <= device["free_bytes"]


def train(machine, entry, steps=STEPS, digest=True):
    """Steps: losses, the digest of all parameters at the end, times and bytes."""
    flags = ["--json", machine.data(), f"--steps={steps}", *products_of(entry)]
    lines = [json.loads(line) for line in
             machine.replay(machine.step(entry), *flags, *([] if digest else ["--no-digest"]), least=20).splitlines()]
    times = [line["device_seconds"] for line in lines[1:]] or [lines[0]["device_seconds"]]
    return {"losses": [line["loss"] for line in lines], "digest": lines[-1].get("digest"), "by": lines[-1]["products"],
            "device_seconds": statistics.median(times),
            "seconds": statistics.median(line["seconds"] for line in lines[1:] or lines), "bytes": lines[-1]["device_measured"]}


def profile(machine, entry):
    """Time by kind of kernel, of events between the calls of a step."""
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
    """The same step in PyTorch."""
    script, config = (os.path.join(machine.folder, name) for name in ("torch_step.py", entry["config"]))
    command = [machine.python, script, "--config", config, "--batch", entry["batch"], "--seq",
               entry["seq"], "--mode", mode, "--steps", 10, "--device", "cuda"]
    command += ["--layers", entry["layers"]] if entry["layers"] else []
    return json.loads(machine.run(command, least=60, most=MOST_TORCH_SECONDS).splitlines()[-1])


def worth(entries):
    """(key, what, entry) of all items, best first; `what` takes the machine and the facts."""
    by_model = {}
    for entry in (entry for entry in entries if not entry.get("expected")):
        by_model.setdefault(entry["model"], []).append(entry)
    models = list(by_model.values())
    items = []

    def add(key, what):
        items.append((key, what))

    def whole(model, products):
        return next((entry for entry in model if entry["products"] == products), None)

    for model in models[:1]:
        add_probes(add, model)
    for entry in (entry for entry in entries if entry.get("expected")):
        add(f"check {entry['name']}",
            lambda machine, entry=entry: train(machine, entry, steps=len(entry["expected"]), digest=False))
    for model in models:
        for entry in sorted(model, key=lambda entry: entry["products"] != "library"):
            add(f"run {entry['name']}",
                lambda machine, entry=entry, digest=model is models[0]: train(machine, entry, digest=digest))
        for mode in TORCH_MODES:
            add(f"torch {model[0]['model']} {mode}",
                lambda machine, entry=model[0], mode=mode: torch_step(machine, entry, mode))
        for products in ("library", "generated"):
            if whole(model, products):
                add(f"profile {whole(model, products)['name']}",
                    lambda machine, entry=whole(model, products): profile(machine, entry))
    for model in models[1:]:
        add_probes(add, model)
    for number in range(2, ROUNDS + 1):
        for entry in (entry for model in models for entry in model):
            add(f"round {number} {entry['name']}", lambda machine, entry=entry: train(machine, entry, digest=False))
    return items


def add_probes(add, model):
    entry = next((entry for entry in model if entry["products"] == "library"), None)
    for products in ("library", "generated") if entry else ():
        add(f"products {model[0]['model']} {products}", lambda machine, products=products: probe(machine, entry, products))


def entry_of(key, entries):
    """The step that an item runs; None for one that runs none."""
    name = key.split()[-1]
    if key.startswith("products "):
        return next(entry for entry in entries if entry["model"] == key.split()[1] and entry["products"] == "library")
    return next((entry for entry in entries if entry["name"] == name), None)


if __name__ == "__main__":
    sys.exit("bundle_items is what gpu_bundle.py runs")
