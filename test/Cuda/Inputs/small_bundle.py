#!/usr/bin/env python3
"""Makes a folder as gpu_pack.py does of copies of one step, under the labels none, 50, and check, which is compared with losses: small_bundle.py FOLDER STEP SCRIPTS RUNNER

The folder of the step's kernels is kernels/ next to STEP.
"""

import json
import os
import shutil
import sys

WIDTH = {"f32": 4, "bf16": 2, "i32": 4}


def main():
    folder, step, scripts, runner = sys.argv[1:]
    for part in ("steps", "configs"):
        os.makedirs(os.path.join(folder, part))
    with open(os.path.join(folder, "configs", "small.json"), "w") as file:
        json.dump({"n_layer": 8}, file)
    for name in ("gpu_bundle.py", "bundle_items.py", "bundle_report.py", "bundle_kernels.py", "op_reference.py", "whole_files.py"):
        shutil.copy(os.path.join(scripts, name), folder)
    shutil.copy(runner, os.path.join(folder, "llmmem-replay"))
    shutil.copy(os.path.join(scripts, "torch_step.py"), os.path.join(folder, "text.txt"))
    shutil.copytree(os.path.join(os.path.dirname(step), "kernels"), os.path.join(folder, "kernels"))
    with open(step) as file:
        bundle = json.load(file)
    bundle["kernels"] = "../kernels"
    needed = bundle["arena"] + sum((buffer["elements"] * WIDTH[buffer["type"]] + 255) // 256 * 256 for buffer in bundle["buffers"])
    entries = []
    for label in ("none", "50", "check"):
        with open(os.path.join(folder, "steps", label + ".json"), "w") as file:
            json.dump(bundle, file)
        entries.append({"name": f"small.{label}", "expected": [0.0, 0.0] if label == "check" else None, "file": f"steps/{label}.json", "title": "Small", "model": "small", "label": label,
                        "products": "generated", "needed": needed, "saved": 0, "predicted_ns": 5000, "recomputed": int(label == "50"), "tokens": 16,
                        "flops": 1000, "batch": 2, "seq": 8, "layers": None, "headline": label == "none", "config": "configs/small.json"})
    with open(os.path.join(folder, "bundle.json"), "w") as file:
        json.dump({"format": "llmmem-gpu-bundle", "version": 1, "revision": "0", "steps": entries}, file)


if __name__ == "__main__":
    main()
