#!/usr/bin/env python3
"""Trains models of transformers in PyTorch within budgets, and compares what was predicted with what the device held.

  torch_cuda.py [--device cuda|cpu] [--small] [--models gpt2,qwen3,llama] [--seconds 480] [--json FILE]

For each model: eager PyTorch, checkpoints as transformers has them, budgets of llmmem from the least to what eager PyTorch takes, a budget for
reserved bytes, the pool, and PyTorch's activation_memory_budget. The parameters are random, in bf16, with a fused AdamW. One line is printed as
soon as it is measured, and what no time is left for is named; the quickest come first. Lines have

  how          which means, with its budget in MB
  allocated    the most bytes that PyTorch had allocated in a step (on a CPU, by its profiler), and what llmmem predicted
  reserved     the most that was taken from the driver, and what was predicted
  tokens/s     by the median of the timed steps
  bits         whether loss and gradients of the first step are those of eager PyTorch, bit by bit

--small takes models of a few layers, which a CPU trains in seconds: it shows that the script runs to its end without a GPU. Predictions count
from the parameters on, so what the process held before (a context, libraries) is in neither figure.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

import llmmem.torch

RATIOS = (0.3, 0.6)  # Of activation_memory_budget.
SHARES = (0.25, 0.5, 0.75)  # Of the way from the least budget to what eager PyTorch takes.
WARM, TIMED = 2, 5
MB = 1_000_000


def config_of(name, small):
    """Returns the configuration and (batch, tokens)."""
    from transformers import GPT2Config, LlamaConfig, Qwen3Config
    common = {"use_cache": False, "attn_implementation": "sdpa"}
    few = {"vocab_size": 1024, "num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 4}
    rows = {"intermediate_size": 256, "num_key_value_heads": 2, "head_dim": 32}
    if name == "gpt2":
        size = {"vocab_size": 1024, "n_layer": 2, "n_embd": 128, "n_head": 4} if small else {}
        return GPT2Config(**size, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **common), (4, 128) if small else (8, 1024)
    if name == "qwen3":
        size = {**few, **rows} if small else {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
                                              "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}
        return Qwen3Config(**size, tie_word_embeddings=True, **common), (4, 128) if small else (4, 1024)
    size = {**few, **rows} if small else {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
                                          "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "rope_theta": 500000.0}
    return LlamaConfig(**size, tie_word_embeddings=True, **common), (4, 128) if small else (4, 1024)


class Trainer:
    """A model with its optimizer and batch on a device. Each line begins with the same parameters."""

    def __init__(self, name, device, small):
        from transformers import AutoModelForCausalLM
        config, (batch, tokens) = config_of(name, small)
        torch.manual_seed(0)
        with torch.device(device):
            self.model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
            self.ids = torch.randint(0, config.vocab_size, (batch, tokens))
        # A model that has no name for its loss says so in a log, which breaks its graph.
        self.model.loss_type = "ForCausalLM"
        self.model.train()
        self.device, self.tokens, self.run = device, batch * tokens, self.model
        self.state_bytes = 2 * sum(parameter.numel() * parameter.itemsize for parameter in self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.0, fused=True)

    def step(self):
        # The logits are held until the backward has returned, as trainers do and a plan assumes.
        outputs = self.run(input_ids=self.ids, labels=self.ids)
        outputs.loss.backward()
        return outputs.loss.detach()

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def bits(self):
        """Returns the loss and a sum over the bits of all gradients, in which each has another weight."""
        loss, total = self.step(), 0
        for number, parameter in enumerate(self.model.parameters()):
            words = parameter.grad.contiguous().view(torch.int16).flatten()
            for part in words.split(1 << 22):
                weights = torch.arange(1, part.numel() + 1, device=part.device) % 65521
                total = (total * 31 + number + int((part.to(torch.int64) * weights).sum())) % (1 << 61)
        self.update()
        return float(loss), total

    def measure(self):
        """Returns (bits, most allocated bytes, most reserved ones or None, tokens a second) of this process."""
        bits = self.bits()
        for _ in range(WARM - 1):
            self.step(), self.update()
        allocated, reserved = self.peaks()
        seconds = []
        for _ in range(TIMED):
            self.wait()
            begin = time.perf_counter()
            self.step(), self.update()
            self.wait()
            seconds.append(time.perf_counter() - begin)
        return bits, allocated, reserved, self.tokens / statistics.median(seconds)

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def peaks(self):
        if self.device == "cpu":
            held = sum(parameter.numel() * parameter.itemsize for parameter in self.model.parameters()) + self.state_bytes + self.ids.nbytes
            with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
                self.step()
            self.update()
            return held + llmmem.torch.peak_bytes(profiler), None
        from llmmem.torch._pool_in_use import pool_in_use
        pool = pool_in_use()
        if pool:
            pool.reset_usage()
            self.step()
            usage = pool.usage()
            self.update()
            return usage.most_allocated, usage.most_reserved
        torch.cuda.reset_peak_memory_stats()
        self.step()
        self.wait()
        found = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        self.update()
        return found

    def renew(self):
        """Forgets what was compiled, and returns what is cached to the driver."""
        self.run = self.model
        self.model.gradient_checkpointing_disable()
        self.optimizer.zero_grad(set_to_none=True)
        torch._dynamo.reset()
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()


class Table:
    def __init__(self, trainer, name, deadline, path):
        self.trainer, self.name, self.deadline, self.path = trainer, name, deadline, path
        self.expected, self.allocated, self.longest = None, None, 0.0

    def row(self, how, prepare, predicted=lambda: (None, None)):
        """Measures what `prepare` makes of the trainer, and prints a line. Returns whether there was time for it, and it ran."""
        if time.monotonic() + 1.2 * self.longest > self.deadline:
            return self.note(how, "no time was left")
        begin = time.monotonic()
        self.trainer.renew()
        try:
            prepare()
            bits, allocated, reserved, speed = self.trainer.measure()
        except Exception as error:  # A means that fails is a line of the table.
            return self.note(how, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
        self.longest = max(self.longest, time.monotonic() - begin)
        self.expected, self.allocated = self.expected or bits, self.allocated or allocated
        self.write({"model": self.name, "how": how, "allocated": allocated, "predicted": predicted()[0], "reserved": reserved,
                    "predicted_reserved": predicted()[1], "tokens_per_second": round(speed, 1), "bits": bits == self.expected})
        return True

    def note(self, how, why):
        self.write({"model": self.name, "how": how, "failed": why})
        return False

    def write(self, line):
        print(self.describe(line), flush=True)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    @staticmethod
    def describe(line):
        if "failed" in line:
            return f"{line['model']:6} {line['how']:34} {line['failed']}"
        told = {key: "-" if line[key] is None else f"{line[key] / MB:,.1f}" for key in ("allocated", "predicted", "reserved", "predicted_reserved")}
        return (f"{line['model']:6} {line['how']:34} allocated {told['allocated']:>9} (predicted {told['predicted']:>9}) reserved "
                f"{told['reserved']:>9} (predicted {told['predicted_reserved']:>9}) MB {line['tokens_per_second']:>9,.0f} tokens/s bits "
                f"{'equal' if line['bits'] else 'differ'}")


def planned(trainer, budget, reports, **options):
    backend = llmmem.torch.backend(budget, optimizer_state=trainer.state_bytes, **options)
    trainer.run = torch.compile(trainer.model, backend=backend, fullgraph=True)
    reports[:] = [backend]


def figures(reports):
    """Returns the predicted bytes, allocated and reserved."""
    if not reports or not reports[0].reports:
        return None, None
    report = reports[0].reports[0]
    reserved = report.resident + report.arena if report.arena is not None else report.usage.reserved if report.usage else None
    return report.peak, reserved


def with_ratio(trainer, ratio, compiler):
    from torch._functorch import config
    config.activation_memory_budget = ratio
    trainer.run = torch.compile(trainer.model, backend=compiler)


def run_model(name, options, deadline):
    trainer = Trainer(name, options.device, options.small)
    table = Table(trainer, name, deadline, options.json)
    table.row("eager", lambda: None)
    table.row("checkpoints of transformers", lambda: trainer.model.gradient_checkpointing_enable({"use_reentrant": False}))
    reports, wanted = [], table.allocated
    table.row("llmmem min", lambda: planned(trainer, "min", reports), lambda: figures(reports))
    ends = [figures(reports)[0], wanted]
    table.row("llmmem free", lambda: planned(trainer, None, reports), lambda: figures(reports))
    if None not in ends:
        for share in SHARES:
            budget = int(ends[0] + share * (ends[1] - ends[0]))
            table.row(f"llmmem {budget / MB:.1f}", lambda budget=budget: planned(trainer, budget, reports), lambda: figures(reports))
        if options.device == "cuda":
            table.row(f"llmmem {ends[1] / MB:.1f} of reserved bytes", lambda: planned(trainer, ends[1], reports, budget_of="reserved"),
                      lambda: figures(reports))
    for compiler in ("aot_eager", "inductor"):
        for ratio in RATIOS:
            table.row(f"activation_memory_budget {ratio} {compiler}", lambda ratio=ratio, compiler=compiler: with_ratio(trainer, ratio, compiler))
        torch._functorch.config.activation_memory_budget = 1.0
    return ends


def run_pool(name, options, deadline, budget):
    """The lines of a process that allocates from the pool."""
    llmmem.torch.use_pool()
    trainer, reports = Trainer(name, options.device, options.small), []
    table = Table(trainer, name, deadline, options.json)
    table.row("pool, eager", lambda: None)
    table.row(f"pool, llmmem {budget / MB:.1f}", lambda: planned(trainer, budget, reports, budget_of="reserved"), lambda: figures(reports))
    print("pool:", {key: getattr(llmmem.torch.pool_usage(), key) for key, _ in llmmem.torch.pool_usage()._fields_[1:]}, flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--models", default="gpt2,qwen3,llama")
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--json")
    parser.add_argument("--pool", type=int, help="a budget: measure in a process of its own that allocates from the pool")
    return parser.parse_args()


def main():
    options = read_options()
    names, deadline = options.models.split(","), time.monotonic() + options.seconds
    if options.pool:
        run_pool(names[0], options, deadline, options.pool)
        return
    kind = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    print(f"# {kind}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}, {'small models' if options.small else 'full models'}", flush=True)
    for number, name in enumerate(names):
        left = max(deadline - time.monotonic(), 0.0)
        ends = run_model(name, options, time.monotonic() + left / (len(names) - number))
        gc.collect()
        if options.device == "cuda" and None not in ends:
            torch.cuda.empty_cache()
            subprocess.run([sys.executable, os.path.abspath(__file__), "--models", name, "--pool", str((ends[0] + ends[1]) // 2), "--seconds",
                            str(max(deadline - time.monotonic(), 0.0)), *(["--small"] if options.small else []),
                            *(["--json", options.json] if options.json else [])], check=False)


if __name__ == "__main__":
    main()
