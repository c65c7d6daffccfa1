"""How far gradients of planned steps under Inductor differ from those of stock Inductor's step, under three settings of PyTorch's.

  LLMMEM_LIBRARY=build-planner/lib/libllmmem-c.so PYTHONPATH=python:test/Guests/torch \
    build-guests/torch/bin/python benchmarks/inductor_bits.py

Deterministic algorithms add to the rows of an embedding's gradient in an order that no thread changes. With `cpp.simdlen` 1 a function
has the same bits in every loop; by default those of a vector may be others than those of a number by itself, and fusion decides which it is.
"""

import torch

import llmmem.torch
from models import gpt, llama, run_step

SETTINGS = {"as they come": (False, {}), "deterministic": (True, {}), "deterministic, simdlen 1": (True, {"cpp.simdlen": 1})}


def describe(names, step, other):
    different = [(name, float((a - b).abs().max())) for name, a, b in zip(names, step.gradients, other.gradients)
                 if not torch.equal(a, b)]
    largest = max((size for _, size in different), default=0)
    return f"{len(different)} of {len(names)} gradients differ" + (f", by up to {largest:.2e}" if different else "")


def compare(model, ids):
    names = [name for name, _ in model.named_parameters()]
    plain = run_step(model, "inductor", ids, ids)
    yield "stock Inductor again", describe(names, run_step(model, "inductor", ids, ids), plain)
    free = llmmem.torch.backend(None, compiler="inductor")
    yield "planned without a budget", describe(names, run_step(model, free, ids, ids), plain)
    for budget in ("min", int(0.8 * free.reports[0].compiled_peak)):
        planned = llmmem.torch.backend(budget, compiler="inductor")
        difference = describe(names, run_step(model, planned, ids, ids), plain)
        yield f"planned for {budget}, {planned.reports[0].recomputed} kernels again", difference


def main():
    for name, (is_deterministic, config) in SETTINGS.items():
        torch.use_deterministic_algorithms(is_deterministic)
        for make in (gpt, llama):
            torch.manual_seed(0)
            ids, model = torch.randint(0, 256, (2, 64)), make(layers=2)
            with torch._inductor.config.patch(config):
                for what, difference in compare(model, ids):
                    print(f"{name}: {make.__name__}, {what}: {difference}", flush=True)


if __name__ == "__main__":
    main()
