"""The chain of tools as functions: each runs one tool and stops the test, with its command, where it fails."""
import json
import os
import shlex
import subprocess
import sys


def stop(message):
    sys.exit("failed: " + message)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        stop("exit %d of %s\n%s" % (result.returncode, shlex.join(command), result.stderr))
    return result.stdout


def import_model(config, model, *flags):
    run("llmmem-import", config, *flags, "-o", model)


def plan(model, step, *flags):
    """Plans a step and returns its memory report."""
    run("llmmem-opt", model, *flags, "--memory-report-json=" + step + ".json", "-o", step)
    with open(step + ".json") as file:
        return json.load(file)


# Any plan will do where bits are compared, so the search for a good one is a short one.
SHORT_SEARCH = "--checkpoint-seconds=0.3"


def needed(report):
    """Returns what a budget must cover."""
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def quick(flags, unless):
    """Returns the flags of llmmem-run for code that compiles in a third of the time and has the same bits (Execution/not-optimized.test);
    none where the flags of llmmem-import have `unless`, so that optimized code is seen as well."""
    return [] if unless in flags else ["--optimize=false"]


def spread(least, most, count):
    """Returns `count` budgets in equal steps, the first at `least`, the last below `most`."""
    return [least + (most - least) * k // count for k in range(count)]


class Training:
    """What a run printed and wrote: one line a step, the first gradients, the last parameters."""

    def __init__(self, step, *flags, files=None):
        files = files or step
        self.parameters, self.gradients = files + ".parameters", files + ".gradients"
        # One thread: on products this small, more only wait for each other.
        lines = run("llmmem-run", step, "--json", "--threads", "1", "--save", self.parameters, "--save-gradients",
                    self.gradients, *flags)
        self.lines = [json.loads(line) for line in lines.splitlines()]

    def bits(self):
        """Returns all that must not change: the losses and digests as printed, and both files byte for byte."""
        numbers = [(line["step"], line["loss"], line.get("dropped_choices"), line["digest"]) for line in self.lines]
        return {"losses, dropped choices or digests": numbers, "gradients": contents(self.gradients),
                "parameters": contents(self.parameters)}


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def remove(*paths):
    for path in paths:
        if os.path.exists(path):
            os.remove(path)


def check_bits(name, training, expected, others):
    """Stops where a run has other bits than `others`, whose bits are `expected`."""
    for what, bits in training.bits().items():
        if bits != expected[what]:
            stop("%s: %s differ from %s" % (name, what, others))


def check_both_memories(name, training, report):
    """Stops where a run measures other bytes than its report says, in the device's arena or on the host."""
    host = report["host"]
    planned = (report["arena"], host["resident"] + host["resident_padding"], host["arena"])
    for line in training.lines:
        measured = (line["arena_measured"], line["host_resident_measured"], line.get("host_arena_measured", 0))
        if measured != planned:
            stop("%s: planned %s, measured %s" % (name, planned, measured))


def check_micro_batches(model, step, prices, host, data, others):
    """Stops where a step of micro-batches, whose update is a function of its own on the same arguments, has other bits with the
    flags `host` of llmmem-opt than without, which `others` names."""
    parts = ["--micro-batches=2", "--checkpoint-policy=none"]
    plan(model, step + ".device", *prices, *parts)
    plan(model, step, *prices, *host, *parts)
    check_bits("in micro-batches", Training(step, *data), Training(step + ".device", *data).bits(), others)
