#!/usr/bin/env python3
"""Measures training steps of transformers' models under budgets.

  torch_zoo.py [--compiler eager|inductor] [--budgets min,half,loose] [--whole] [--jobs 2] [--json FILE] [MODEL...]

The models are those of test/Guests/families/zoo.py, without MODEL all of them. Budgets are `min`, the least that is found; `half`, half
way from there to the peak of the unplanned step of the same compiler; `loose`, a tenth above that peak. Each line of the table has the budget,
the peak that was promised, the peak that was measured while the caller holds every result, whether loss and gradients are those of the
unplanned step bit by bit, whether graph breaks made several graphs that share the budget, how many kernels run again, and the seconds of
the first call, which plans and compiles.

--whole compiles by llmmem.torch.compile, which plans the whole step, in place of a backend. Random numbers are those of eager PyTorch
(`fallback_random` of Inductor), so that models with dropout can be compared. A line counts as over where the measured peak is above the
budget, or under `min` above what was promised; the reports of several graphs promise no least. The exit code is 1 where one is, or where
bits of kernels that run one by one differ. Needs PyTorch, transformers and peft, and LLMMEM_LIBRARY, as test/Guests/families does:
`PYTHONPATH=python build-guests/families/bin/python benchmarks/torch_zoo.py`.
"""

import argparse
import dataclasses
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "Guests", "families"))

from zoo import MODELS
from zoo_steps import BUDGETS, COMPILERS, measure_all

COLUMNS = ("model", "compiler", "budget", "bytes", "promised", "measured", "bits", "graphs", "again", "seconds")
WORDS = {"bits": {True: "equal", False: "differ", None: ""}, "graphs": {True: "several", False: "one"}}


def row(line):
    words = {"bits": WORDS["bits"][line.has_bits], "graphs": WORDS["graphs"][line.has_several_graphs]}
    cells = [words[name] if name in words else getattr(line, name) for name in COLUMNS]
    texts = [f"{cell:,}" if isinstance(cell, int) else f"{cell:.1f}" if isinstance(cell, float) else cell or "" for cell in cells]
    return f"| {' | '.join(texts)} |" + (" over" if line.is_over else "") + (f" {line.error}" if line.error else "")


def summarize(lines):
    for compiler in COMPILERS:
        for budget in BUDGETS:
            made = [line for line in lines if (line.compiler, line.budget) == (compiler, budget)]
            if made:
                print(f"{compiler} {budget}: {len(made)} models, {sum(line.is_over for line in made)} over, "
                      f"{sum(line.error is not None for line in made)} refused, {sum(line.promised == line.measured for line in made)} "
                      f"predicted to the byte, {sum(line.has_bits is False for line in made)} with other bits")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", choices=COMPILERS, action="append")
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="gets each line as JSON, too")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    lines = []
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}", flush=True)
    for compiler in options.compiler or COMPILERS:
        for made in measure_all(options.models or MODELS, compiler, options.budgets.split(","), options.jobs, options.whole):
            for line in made:
                lines.append(line)
                print(row(line), flush=True)
                if options.json:
                    with open(options.json, "a", encoding="utf-8") as file:
                        file.write(json.dumps(dict(dataclasses.asdict(line), over=line.is_over)) + "\n")
    summarize(lines)
    return 1 if any(line.is_over or line.compiler == "eager" and line.has_bits is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
