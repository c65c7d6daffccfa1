"""Generates with caches by a tiny model that transformers has generated with (utils/golden-generation.py), and demands its tokens
and, to 1e-9 in f64 and 1e-5 in f32, its logits: token by token, with prompts in chunks of 4 and whole, in pages where no layer
has a window, and each prompt of the batch alone.

  generation.py folder golden

Prints a line for each run, and last how many agreed.
"""
import json
import os
import sys

import chain
import tensors

PROMPTS = [[3, 1, 4, 1, 5, 9, 2, 6, 5], [2, 7, 1]]
TOKENS = 12
TOLERANCE = {"f64": 1e-9, "f32": 1e-5}


class Model:
    def __init__(self, folder, golden):
        self.folder, self.golden = folder, golden
        self.expected = tensors.read(golden + ".safetensors")
        with open(golden + ".config.json") as file:
            config = json.load(file)
        # Attention beyond the window is what rings are for; those have no pages.
        self.has_rings = bool(config.get("sliding_window")) and config["model_type"] in ("mistral", "gemma2")

    def step(self, name, *flags):
        """The path of a planned step."""
        model, planned = (os.path.join(self.folder, name + suffix) for suffix in (".model.mlir", ".mlir"))
        chain.run("llmmem-import", self.golden + ".config.json", *flags, "-o", model)
        chain.run("llmmem-opt", "--checkpoint-policy=none", model, "-o", planned)
        return planned

    def generate(self, name, steps, numbers, *flags):
        """Tokens and logits of the prompts with these numbers."""
        logits = os.path.join(self.folder, name + ".safetensors")
        tokens = ";".join(",".join(map(str, PROMPTS[number])) for number in numbers)
        printed = chain.run("llmmem-run", *steps, "--load", self.golden + ".safetensors", "--tokens", tokens,
                            "--generate", str(TOKENS), "--temperature", "0", "--json", "--save-logits", logits,
                            "--optimize=false", "--gemm=builtin", *flags)
        rows = tensors.read(logits)
        lines = [json.loads(line) for line in printed.splitlines()]
        return [line["tokens"] for line in lines], [rows["logits.%d" % i] for i in range(len(lines))]

    def check(self, name, steps, numbers, tolerance, *flags):
        tokens, logits = self.generate(name, steps, numbers, *flags)
        for number, own, rows in zip(numbers, tokens, logits, strict=True):
            if own != list(self.expected["tokens.%d" % number]):
                chain.stop("%s: prompt %d goes on with %s, expected %s"
                           % (name, number, own, list(self.expected["tokens.%d" % number])))
            error = tensors.relative_error(rows, self.expected["logits.%d" % number])
            if not error <= tolerance:
                chain.stop("%s: logits of prompt %d are off by %g, expected at most %g" % (name, number, error, tolerance))
        print("%s: tokens and logits agree" % name)
        return logits


def main(folder, golden):
    os.makedirs(folder, exist_ok=True)
    model, both = Model(folder, golden), [0, 1]
    for dtype, tolerance in TOLERANCE.items():
        common = ["--context", "24", "--dtype", dtype]
        decode = model.step("decode", "--mode", "decode", "--batch", "2", *common)
        logits = model.check(dtype + ", token by token", [decode], both, tolerance)
        prefill = model.step("prefill", "--mode", "prefill", "--batch", "2", "--seq", "4", *common)
        model.check(dtype + ", in chunks", [prefill, decode], both, tolerance)
    # What follows is the same program's: one type is enough.
    whole = model.step("whole", "--mode", "prefill", "--batch", "2", "--seq", "9", *common)
    model.check("whole prompts", [whole, decode], both, tolerance)
    alone = model.step("alone", "--mode", "decode", "--batch", "1", *common)
    if model.check("one prompt alone", [alone], [1], tolerance)[0] != logits[1]:
        chain.stop("a prompt alone has other bits than in a batch")
    runs = 6
    if not model.has_rings:
        # 9 + 11 and 3 + 11 tokens in pages of 4 are 5 and 4 pages: all that there are.
        pages = ["--page", "4", "--pages", "9"]
        paged = model.step("paged", "--mode", "decode", "--batch", "2", *common, *pages)
        if model.check("pages", [paged], both, tolerance) != logits:
            chain.stop("caches in pages give other bits")
        runs += 1
    print("%d runs agree with transformers" % runs)


if __name__ == "__main__":
    main(*sys.argv[1:])
