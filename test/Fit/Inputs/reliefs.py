#!/usr/bin/env python3
"""reliefs.py FIT.json FOLDER: plans the step with each relief that llmmem-fit names, and compares whether there is a plan."""

import json
import os
import subprocess
import sys


def flags_of(relief, tool):
    """Returns the flags of one of the tools."""
    calls = [call.split() for call in relief["flags"].split(", ")]
    return [flag for name, *flags in calls for flag in flags if name == tool]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    model = os.path.join(sys.argv[2], "model.mlir")
    budget = fit["card_bytes"] - fit["reserve_bytes"]
    for relief in fit["reliefs"]:
        subprocess.run(["llmmem-import", fit["model"], "--batch", str(relief["batch"]), "--seq", str(fit["seq"]),
                        *flags_of(relief, "llmmem-import"), "-o", model], check=True)
        done = subprocess.run(["llmmem-opt", f"--checkpoint-budget={budget}", "--checkpoint-seconds=1",
                               *flags_of(relief, "llmmem-opt"), model, "-o", os.devnull], stderr=subprocess.PIPE, text=True)
        if (done.returncode == 0) != relief["fits"]:
            sys.exit(f"{relief}: llmmem-opt ends with {done.returncode}\n{done.stderr}")
    print(f"{sum(it['fits'] for it in fit['reliefs'])} of {len(fit['reliefs'])} reliefs fit, as llmmem-opt finds")


if __name__ == "__main__":
    main()
