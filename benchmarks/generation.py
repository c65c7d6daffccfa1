#!/usr/bin/env python3
"""Tokens per second of a model that writes on a CPU, in several types of weights, compared with the time to read its bytes.

  generation.py [--build build] [--config gpt2] [--context 1024] [--tokens 64] [--rounds 3] [--threads N] [--python PATH] [types]

A token reads each weight once, and the caches of the tokens before it. The bound is those bytes over the speed at which the same
threads read a buffer of as many (`ninja read-speed`). A type is a dtype, optionally with the weights' type after a slash, and after another slash what
activations are rounded to: f32, bf16, bf16/int8:128, bf16/int4:128/int8. Tokens are the most likely ones, as in PyTorch's rounds. Weights
are random, which changes no time. With --python, an interpreter that has torch and transformers, the same model runs
there in f32 and bf16. Every round reads, runs and reads each once, as many passes as tokens; figures are medians of the rounds, the share that of the
rounds' own shares, as the speed of a shared machine's memory changes from second to second.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = ["f32", "bf16", "f32/int8:128", "f32/int4:128", "f32/int8:128/int8", "f32/int4:128/int8"]
TORCH = """
import json, sys, time, torch, transformers
config = transformers.AutoConfig.from_pretrained(sys.argv[1])
torch.set_num_threads(int(sys.argv[3]))
model = transformers.AutoModelForCausalLM.from_config(config).to(getattr(torch, sys.argv[2])).eval()
ids = torch.tensor([[1, 2, 3]])
with torch.inference_mode():
    model.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    start = time.perf_counter()
    model.generate(ids, max_new_tokens=int(sys.argv[4]), min_new_tokens=int(sys.argv[4]), do_sample=False)
    print(int(sys.argv[4]) / (time.perf_counter() - start))
"""


def run(*command):
    result = subprocess.run(list(map(str, command)), text=True, capture_output=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {result.returncode}\n{result.stderr}")
    return result


class Generation:
    """A planned step of decoding in one type, and its rounds."""

    def __init__(self, arguments, folder, form):
        self.arguments, self.form = arguments, form
        self.tools = os.path.join(arguments.build, "bin")
        dtype, weights, activations = (form.split("/") + ["", ""])[:3]
        stem = os.path.join(folder, re.sub(r"\W", "-", form))
        self.step = stem + ".step.mlir"
        run(os.path.join(self.tools, "llmmem-import"), arguments.config, "--mode", "decode", "--batch", 1, "--context", arguments.context,
            "--dtype", dtype, *(["--weights", weights] if weights else []), *(["--activations", activations] if activations else []), "-o", stem + ".mlir")
        run(os.path.join(self.tools, "llmmem-opt"), "--checkpoint-policy=none", "--checkpoint-device=cpu", stem + ".mlir",
            f"--memory-report-json={stem}.json", "-o", self.step)
        with open(stem + ".json") as file:
            resident = json.load(file)["resident"]
        # The caches are half as full on average as at the end.
        tokens = arguments.tokens + 3
        self.bytes = resident["param"] + resident["kv_cache"] * tokens // 2 // arguments.context
        self.rounds = []  # of bytes read a second, and tokens

    def read(self):
        return float(run(os.path.join(self.tools, "read-speed"), self.bytes, self.arguments.threads, self.arguments.tokens).stdout) * 1e9

    def round(self):
        before = self.read()
        printed = run(os.path.join(self.tools, "llmmem-run"), self.step, "--generate", self.arguments.tokens, "--tokens", "1,2,3", "--temperature", 0,
                      "--threads", self.arguments.threads).stderr
        self.rounds.append(((before + self.read()) / 2, float(re.search(r"([0-9.]+) tokens/s", printed).group(1))))

    def print(self):
        read = statistics.median(read for read, _ in self.rounds)
        tokens = statistics.median(tokens for _, tokens in self.rounds)
        share = statistics.median(tokens * self.bytes / read for read, tokens in self.rounds)
        print(f"{self.form:22}{self.bytes / 1e6:10.1f} MB{read / 1e9:8.2f} GB/s{read / self.bytes:10.1f}{tokens:10.1f}{share:8.0%}")


def time_torch(arguments, dtype):
    with tempfile.TemporaryDirectory() as folder:
        with open(arguments.config) as source, open(os.path.join(folder, "config.json"), "w") as target:
            target.write(source.read())
        # It may be a person's own torch, which -I would not find; what lies in the current folder is not meant.
        return float(run(arguments.python, "-c", "import sys; sys.path = [place for place in sys.path if place]" + TORCH, folder, dtype, arguments.threads, arguments.tokens).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", nargs="*", default=TYPES)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--config", default=os.path.join(ROOT, "examples", "configs", "gpt2.json"))
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--python", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generations = [Generation(arguments, folder, form) for form in arguments.types]
        for _ in range(arguments.rounds):
            for generation in generations:
                generation.round()
        print(f"{'type':22}{'bytes a token':>13}{'read at':>13}{'bound':>10}{'tokens/s':>10}{'share':>8}")
        for generation in generations:
            generation.print()
    for dtype in ("float32", "bfloat16") if arguments.python else ():
        middle = statistics.median(time_torch(arguments, dtype) for _ in range(arguments.rounds))
        print(f"PyTorch {dtype:43}{middle:20.1f}")


if __name__ == "__main__":
    main()
