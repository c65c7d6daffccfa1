"""How far gradients of a planned step under Inductor differ from those of the unplanned one, with one thread and with two.

  LLMMEM_LIBRARY=build-planner/lib/libllmmem-c.so PYTHONPATH=python:test/Guests/torch \
    build-guests/torch/bin/python benchmarks/inductor_bits.py
"""

import torch

import llmmem.torch
from models import gpt, measure_step, run_step


def describe(names, step, other):
    different = [(name, float((a - b).abs().max())) for name, a, b in zip(names, step.gradients, other.gradients)
                 if not torch.equal(a, b)]
    largest = max((size for _, size in different), default=0)
    return f"{len(different)} of {len(names)} gradients differ, by up to {largest:.2e} {[name for name, _ in different]}"


def main():
    torch.manual_seed(0)
    ids, model = torch.randint(0, 256, (2, 64)), gpt(layers=2)
    names = [name for name, _ in model.named_parameters()]
    for threads in (1, 2):
        with torch._inductor.config.patch({"cpp.threads": threads}):
            torch._dynamo.reset()
            free = llmmem.torch.backend(None, compiler="inductor")
            compiled = torch.compile(model, backend=free)
            plain, again = (measure_step(model, compiled, ids, ids) for _ in range(2))
            planned = llmmem.torch.backend(int(0.8 * free.reports[0].compiled_peak), compiler="inductor")
            step = run_step(model, planned, ids, ids)
        print(f"{threads} threads: planned, {planned.reports[0].recomputed} kernels again: {describe(names, step, plain)}; "
              f"unplanned again: {describe(names, again, plain)}", flush=True)


if __name__ == "__main__":
    main()
