#!/usr/bin/env python3
"""What fewer bits do to a small model: benchmarks/rounding.py [--steps N] [--bin FOLDER]

Trains tiny-gpt2 from random parameters, in f32 and in bf16 with f32 masters, on docs/Design/Planning.md (16 rows of 64 bytes a step,
600 steps), and prints as Markdown the perplexity of a byte over 12 batches of docs/Design/Execution.md, with the parameters as they
are and with the projections in fewer bits, in groups of 64.
"""
import argparse
import json
import math
import os
import re
import struct
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRAINED, HELD = ("f32", "bf16"), (None, "int8:64", "f8e4m3:64", "f8e5m2:64", "int4:64")


def make_step(folder, dtype, held):
    """A training step; beside weights in fewer bits, which are frozen, it has an adapter that adds nothing yet."""
    model, step = (os.path.join(folder, name) for name in ("model.mlir", "step.mlir"))
    flags = ["--weights", held, "--lora-rank", "1", "--lora-alpha", "1", "--lora-targets", "c_attn"] if held else []
    subprocess.run(["llmmem-import", f"{ROOT}/examples/configs/tiny-gpt2.json", "--batch", "16", "--seq", "64", "--dtype", dtype,
                    "--dropout", "0", *flags, "-o", model], check=True)
    subprocess.run(["llmmem-opt", "--checkpoint-policy=none", model, "-o", step], check=True, stderr=subprocess.DEVNULL)
    return step


def losses(step, text, *flags):
    run = subprocess.run(["llmmem-run", step, "--data", f"{ROOT}/docs/Design/{text}.md", *flags], check=True, capture_output=True,
                         text=True)
    return [float(loss) for loss in re.findall(r"^step \d+ +loss ([\d.]+)", run.stdout, re.M)]


def keep_parameters(checkpoint, path):
    """Without the optimizer's state, so that a run that loads it begins anew."""
    with open(checkpoint, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    kept, parts, end = {"__metadata__": {"format": "pt"}}, [], 0
    for name, entry in header.items():
        if name == "__metadata__" or name.startswith("llmmem."):
            continue
        begin, behind = entry["data_offsets"]
        parts.append(data[begin:behind])
        kept[name] = {**entry, "data_offsets": [end, end + behind - begin]}
        end += behind - begin
    text = json.dumps(kept).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="600", help="of training")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where the tools are")
    arguments = parser.parse_args()
    os.environ["PATH"] = arguments.bin + os.pathsep + os.environ["PATH"]
    print("| trained in | " + " | ".join(held or "as it is" for held in HELD) + " |\n|---|" + "---|" * len(HELD))
    with tempfile.TemporaryDirectory() as folder:
        for dtype in TRAINED:
            whole, parameters = (os.path.join(folder, f"{dtype}.{kind}.safetensors") for kind in ("whole", "parameters"))
            losses(make_step(folder, dtype, None), "Planning", "--steps", arguments.steps, "--shuffle", "--seed", "1", "--save", whole)
            keep_parameters(whole, parameters)
            cells = []
            for held in HELD:
                found = losses(make_step(folder, dtype, held), "Execution", "--load", parameters, "--lr", "0", "--steps", "12")
                cells.append(f"{math.exp(sum(found) / len(found)):.3f}")
            print(f"| {dtype} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
