"""Generates with caches by a tiny model that transformers has generated with (utils/golden-generation.py), and demands its tokens
and, to 1e-9 in f64, its logits: token by token, and with prompts in chunks of 4. With `all` also to 1e-5 in f32, with whole
prompts, with a prompt of the batch alone, and in pages where no layer has a window; these two with equal bits.

  generation.py folder golden [all]

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
        self.has_rings = bool(config.get("sliding_window")) and config["model_type"] in ("mistral", "gemma2", "gpt_oss")

    def step(self, name, *flags):
        """Returns the path of a planned step."""
        model, planned = (os.path.join(self.folder, name + suffix) for suffix in (".model.mlir", ".mlir"))
        chain.run("llmmem-import", self.golden + ".config.json", *flags, "-o", model)
        chain.run("llmmem-opt", "--checkpoint-policy=none", model, "-o", planned)
        return planned

    def runner(self):
        """Returns what runs the steps."""
        return ["llmmem-run"]

    def generate(self, name, steps, numbers, *flags):
        """Returns the tokens and logits of the prompts with these numbers."""
        logits = os.path.join(self.folder, name + ".safetensors")
        tokens = ";".join(",".join(map(str, PROMPTS[number])) for number in numbers)
        printed = chain.run(*self.runner(), *steps, "--load", self.golden + ".safetensors", "--tokens", tokens,
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


def check_divided(model, dtype):
    """Compares a batch whose prompts pass token by token with one whose prompts pass in chunks. Returns logits and flags."""
    flags = ["--context", "24", "--dtype", dtype]
    decode = model.step("decode", "--mode", "decode", "--batch", "2", *flags)
    logits = model.check(dtype + ", token by token", [decode], [0, 1], TOLERANCE[dtype])
    prefill = model.step("prefill", "--mode", "prefill", "--batch", "2", "--seq", "4", *flags)
    model.check(dtype + ", in chunks", [prefill, decode], [0, 1], TOLERANCE[dtype])
    return logits, decode, flags


def check_all(model):
    """Returns how many more runs agree."""
    logits, decode, flags = check_divided(model, "f32")
    whole = model.step("whole", "--mode", "prefill", "--batch", "2", "--seq", "9", *flags)
    model.check("whole prompts", [whole, decode], [0, 1], TOLERANCE["f32"])
    alone = model.step("alone", "--mode", "decode", "--batch", "1", *flags)
    if model.check("one prompt alone", [alone], [1], TOLERANCE["f32"])[0] != logits[1]:
        chain.stop("a prompt alone has other bits than in a batch")
    if model.has_rings:
        return 4
    # 9 + 11 and 3 + 11 tokens in pages of 4 are 5 and 4 pages: all that there are.
    paged = model.step("paged", "--mode", "decode", "--batch", "2", *flags, "--page", "4", "--pages", "9")
    if model.check("pages", [paged], [0, 1], TOLERANCE["f32"]) != logits:
        chain.stop("caches in pages give other bits")
    return 5


def main(folder, golden, *more):
    os.makedirs(folder, exist_ok=True)
    model = Model(folder, golden)
    check_divided(model, "f64")
    print("%d runs agree with transformers" % (2 + (check_all(model) if more == ("all",) else 0)))


if __name__ == "__main__":
    main(*sys.argv[1:])
