#!/usr/bin/env python3
"""What fewer bits do to a small model: benchmarks/rounding.py [--steps N] [--bin FOLDER]

Trains tiny-gpt2 from random parameters, in f32 and in bf16 with f32 masters, on docs/Design/Planning.md (16 rows of 64 bytes a step,
600 steps), and prints as Markdown the perplexity of a byte over 12 batches of docs/Design/Execution.md, with the parameters as they
are and with the projections in fewer bits, in groups of 64. A second table is of a step of decoding, which rounds the table of bytes, too,
and perhaps what multiplies: the perplexity of the bytes after 512 texts of 40 bytes of docs/Design/Execution.md, and the largest
difference of a logit from those of parameters as they are, over the largest of these.
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
DECODED = ([], ["int8:64"], ["int8:64", "int8:64"], ["int4:64"], ["int4:64", "int8:64"])  # weights, activations
TEXTS, LENGTH = 512, 40


def make_step(folder, dtype, held):
    """Makes a training step. With weights in fewer bits, which are frozen, it has an adapter that adds nothing yet."""
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
    """Keeps the parameters without the optimizer's state, so that a run that loads them starts at step 1."""
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


def decode(folder, parameters, form):
    """Returns the logits after texts, and the bytes that follow these."""
    model, step, saved = (os.path.join(folder, name) for name in ("decode.mlir", "decode.step.mlir", "logits.safetensors"))
    flags = [word for flag, value in zip(("--weights", "--activations"), form) for word in (flag, value)]
    subprocess.run(["llmmem-import", f"{ROOT}/examples/configs/tiny-gpt2.json", "--mode", "decode", "--batch", str(TEXTS), "--context",
                    str(LENGTH + 1), *flags, "-o", model], check=True)
    subprocess.run(["llmmem-opt", "--checkpoint-policy=none", model, "-o", step], check=True, stderr=subprocess.DEVNULL)
    with open(f"{ROOT}/docs/Design/Execution.md", "rb") as file:
        text = file.read()
    texts = [text[place:place + LENGTH + 1] for place in range(0, TEXTS * 31, 31)]
    subprocess.run(["llmmem-run", step, "--load", parameters, "--generate", "1", "--tokens",
                    ";".join(",".join(map(str, one[:-1])) for one in texts), "--save-logits", saved], check=True, capture_output=True)
    with open(saved, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    rows = []
    for number in range(TEXTS):
        begin, end = header[f"logits.{number}"]["data_offsets"]
        rows.append(struct.unpack(f"<{(end - begin) // 8}d", data[begin:end]))
    return rows, [one[-1] for one in texts]


def print_decoded(folder, parameters):
    print("\n| weights | activations | perplexity | largest difference |\n|---|---|---|---|")
    whole = None
    for form in DECODED:
        rows, following = decode(folder, parameters, form)
        whole = whole or rows
        loss = sum(math.log(sum(map(math.exp, row))) - row[byte] for row, byte in zip(rows, following)) / TEXTS
        worst = max(abs(a - b) for row, other in zip(rows, whole) for a, b in zip(row, other))
        largest = max(abs(a) for row in whole for a in row)
        weights, activations = (form + ["f32", "f32"][len(form):])
        print(f"| {weights} | {activations} | {math.exp(loss):.3f} | {worst / largest:.2%} |", flush=True)


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
        print_decoded(folder, os.path.join(folder, f"{TRAINED[0]}.parameters.safetensors"))


if __name__ == "__main__":
    main()
