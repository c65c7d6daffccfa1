"""What benchmarks share: the tools of a build, models, planned steps, and their runs on a device."""
import json
import os
import shlex
import statistics
import subprocess
import sys
import threading

import whole_files

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = os.path.join(ROOT, "docs", "Design", "Planning.md")
NO_DEVICE = 3


class NoPlan(Exception):
    """Raised where no plan keeps this budget."""


def workers():
    """Returns how many tools may run side by side where nothing is timed."""
    return max(1, min(8, (os.cpu_count() or 1) // 2))


def needed(report):
    """Returns what a budget must cover."""
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def read_json(path):
    with open(path) as file:
        return json.load(file)


def write_json(path, value):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    whole_files.write_text(path, json.dumps(value, indent=1) + "\n")


def products_flags(products):
    """Returns the flags of llmmem-opt and llmmem-run that say what multiplies on a GPU."""
    return ["--products=" + products]


def run_flags(products, folder):
    """Returns the flags of llmmem-run that say what multiplies. A library uses the algorithms that are kept in the folder, timed once for all plans."""
    kept = ["--product-algorithms=" + os.path.join(folder, "algorithms")] if products == "library" else []
    return products_flags(products) + kept


class Model:
    """CONFIG[:BATCH[:SEQ[:LAYERS]]], a name under examples/configs or a file; `layers` None is the config's own."""

    def __init__(self, config, batch, seq, layers=None, dtype="bf16"):
        known = os.path.join(ROOT, "examples", "configs", config + ".json")
        self.config = known if os.path.exists(known) else config
        self.batch, self.seq, self.layers, self.dtype = batch, seq, layers, dtype
        self.name = os.path.splitext(os.path.basename(config))[0]

    @property
    def slug(self):
        layers = f"-l{self.layers}" if self.layers else ""
        return f"{self.name}{layers}-b{self.batch}-s{self.seq}-{self.dtype}"

    def facts(self):
        return read_json(self.config)


class Bench:
    """The tools of a build and the device that runs steps. A step lies in `folder` and is planned once, as long as planner,
    flags and prices stay. Plans may be made by several threads."""

    def __init__(self, build, folder, device, run_flags=(), opt_flags=(), import_flags=()):
        self.tools, self.folder, self.device = os.path.join(os.path.abspath(build), "bin"), folder, device
        # A library rounds other than generated kernels with epilogues: budgets that choose others would change bits.
        chosen = device != "cuda" or any(flag.startswith("--products") for flag in run_flags)
        own = ["--device=" + device] + ([] if chosen else products_flags("generated"))
        self.run_flags, self.opt_flags = own + list(run_flags), list(opt_flags)
        self.import_flags = list(import_flags)
        self.imported, self.importing = set(), threading.Lock()
        os.makedirs(folder, exist_ok=True)

    def run(self, name, *flags):
        command = [os.path.join(self.tools, name), *map(str, flags)]
        result = subprocess.run(command, text=True, capture_output=True)
        if name == "llmmem-opt" and result.returncode == 2:
            raise NoPlan(result.stderr)
        if result.returncode:
            print(f"{shlex.join(command)}\nexit code {result.returncode}\n{result.stderr}", file=sys.stderr)
            sys.exit(NO_DEVICE if result.returncode == NO_DEVICE else 1)
        return result.stdout

    def place(self, *names):
        return os.path.join(self.folder, *names)

    def import_model(self, model):
        path = self.place(model.slug + ".mlir")
        layers = ["--layers", model.layers] if model.layers else []
        with self.importing:
            if path not in self.imported:
                self.run("llmmem-import", model.config, "--batch", model.batch, "--seq", model.seq, "--dtype", model.dtype,
                         "--dropout", 0, *layers, *self.import_flags, "-o", path)
                self.imported.add(path)
        return path

    def plan(self, model, label, table, *flags):
        """Returns the planned step and its report; raises NoPlan where no plan keeps the budget."""
        step = self.place(f"{model.slug}.{label}.step.mlir")
        flags = [*flags, *self.opt_flags]
        # The plan is for what runs it; a named device alone would be planned for its library.
        flags += [] if any(flag.startswith("--products=") for flag in flags) else products_flags("generated")
        how = {"planner": os.path.getmtime(os.path.join(self.tools, "llmmem-opt")), "flags": flags,
               "table": read_json(table) if table.endswith(".json") else table}
        if not os.path.exists(step + ".how") or read_json(step + ".how") != how:
            self.run("llmmem-opt", *flags, f"--checkpoint-device={table}", f"--memory-report-json={step}.json",
                     self.import_model(model), "-o", step)
            write_json(step + ".how", how)
        return step, read_json(step + ".json")

    def profile(self, step, steps):
        result = step + ".profile"
        self.run("llmmem-run", step, *self.run_flags, "--data", TEXT, "--steps", steps, "--progress-seconds", 1e6,
                 f"--profile-json={result}")
        return read_json(result)["calls"]

    def time(self, step, steps):
        """Returns the seconds of a step, the host's and (on a GPU) the device's, and the bytes that it has less."""
        lines = [json.loads(line) for line in
                 self.run("llmmem-run", step, *self.run_flags, "--data", TEXT, "--steps", steps + 1, "--json",
                          "--no-digest").splitlines()]
        middle = lambda key: statistics.median(line[key] for line in lines[1:]) if key in lines[0] else None
        return {"seconds": middle("seconds"), "device_seconds": middle("device_seconds"),
                "bytes": lines[-1].get("device_measured")}

    def describe(self):
        return json.loads(self.run("llmmem-run", "--describe-device", *self.run_flags))
