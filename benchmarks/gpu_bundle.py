#!/usr/bin/env python3
"""Measures a bundle on a machine with a GPU, best things first: gpu_bundle.py --minutes N --out FOLDER [--bundle FOLDER]

Needs this folder, the NVIDIA driver and Python's standard library; PyTorch for what is compared with it. FOLDER/report.md and
FOLDER/results.json are whole after every item, under their names only then, and a later call goes on with what was not
run. It ends in time: an item that would take longer is ended, and runs the next time. Exit code 1 where a promise is broken,
3 where there is no GPU.
"""

import argparse
import json
import os
import sys
import time

import bundle_items
from bundle_items import Failed, Machine, NoDevice, OutOfTime
from bundle_report import report
from whole_files import write_text


class Results:
    """What was measured, and the report of it."""

    def __init__(self, out, bundle):
        self.out, self.bundle = out, bundle
        self.path = os.path.join(out, "results.json")
        self.kept = {"revision": bundle["revision"], "items": {}}
        if os.path.exists(self.path):
            with open(self.path) as file:
                self.kept = json.load(file)
        if self.kept["revision"] != bundle["revision"]:
            sys.exit(f"gpu_bundle: {self.path} has results of another bundle; give another --out")

    def keep(self, key, value):
        self.kept["items"][key] = value
        self.write([])

    def write(self, left):
        """Returns the broken promises, once both files say the same."""
        text, broken = report(self.bundle, self.kept["items"], left)
        write_text(self.path, json.dumps({**self.kept, "broken": broken}, indent=1) + "\n")
        write_text(os.path.join(self.out, "report.md"), text)
        return broken


def measure(machine, results, items):
    """Runs what is not known yet, and returns the items that are left. An item for which no time is left makes way for shorter ones."""
    known = results.kept["items"]
    entries, left = results.bundle["steps"], []
    for key, what in items:
        if key in known:
            continue
        entry = bundle_items.entry_of(key, entries)
        if entry and not bundle_items.fits(entry, known["facts"]["device"]):
            free = known["facts"]["device"]["free_bytes"]
            results.keep(key, {"why": f"needs {entry['needed']} bytes and a GiB, of which {free} are free", "fits": False})
            continue
        begin = time.monotonic()
        try:
            value = what(machine)
        except OutOfTime:
            left.append(key)
            continue
        except Failed as why:
            value = {"why": str(why)}
        print(key, flush=True)
        results.keep(key, {**value, "took": round(time.monotonic() - begin, 2)})
    return left


def parse():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default=here, help="what gpu_pack.py has written (default: where this script lies)")
    parser.add_argument("--minutes", type=float, default=8, help="the most that this call takes (default: 8)")
    parser.add_argument("--out", required=True, help="where the report and the results are written")
    parser.add_argument("--python", default=sys.executable, help="a Python that may import torch")
    parser.add_argument("--tools", default="", help="where ncu and compute-sanitizer are looked for first")
    parser.add_argument("--torch-device", default="cuda", choices=["cuda", "cpu"],
                        help="where PyTorch runs (default: cuda; cpu tries the scripts without a GPU)")
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=("",),
                        help="items whose names begin with one of these, as 'run gpt2,profile', and the facts")
    parser.add_argument("--run-flag", action="append", default=[], help="another flag of llmmem-replay")
    return parser.parse_args()


def main():
    arguments = parse()
    end = time.monotonic() + 60 * arguments.minutes - 1
    path = os.path.join(arguments.bundle, "bundle.json")
    try:
        with open(path) as file:
            bundle = json.load(file)
    except (OSError, ValueError) as why:
        sys.exit(f"gpu_bundle: '{path}' cannot be read: {why}")
    if bundle.get("format") != "llmmem-gpu-bundle" or bundle.get("version") != 1:
        sys.exit(f"gpu_bundle: '{path}' is no llmmem-gpu-bundle of version 1: pack it again")
    os.makedirs(arguments.out, exist_ok=True)
    machine = Machine(arguments.bundle, arguments.run_flag, arguments.python, end, arguments.out, arguments.tools, arguments.torch_device)
    results = Results(arguments.out, bundle)
    try:
        left = measure(machine, results, [("facts", bundle_items.facts)])
    except NoDevice as why:
        print(f"gpu_bundle: {why}", file=sys.stderr)
        return bundle_items.NO_DEVICE
    items = [item for item in bundle_items.worth(bundle["steps"]) if item[0].startswith(arguments.only)]
    left = left + [key for key, _ in items] if left else measure(machine, results, items)
    broken = results.write(left)
    for promise in broken:
        print(f"broken: {promise}", file=sys.stderr)
    print(f"{len(results.kept['items'])} items are measured, {len(left)} are left; {os.path.join(arguments.out, 'report.md')}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
