"""Measured training steps of the models of the zoo: what was promised, their bytes, and their bits. Not a test."""

import concurrent.futures
import contextlib
import gc
import logging
import multiprocessing
import os
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, List, Optional, Sequence

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition
from torch.profiler import ProfilerActivity, profile

import llmmem.torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))
from models import is_equal, resident_bytes
from zoo import MODELS, Entry

COMPILERS = ("eager", "inductor")
BUDGETS = ("min", "half", "loose")


@dataclass
class Step:
    """peak: bytes by the profiler's memory events while the caller holds all results, on top of parameters, buffers and inputs, which are
    added. seconds: of the first call, which plans and compiles."""

    peak: int
    loss: torch.Tensor
    gradients: List[Optional[torch.Tensor]]
    seconds: float


@dataclass
class Line:
    """A step of a model under a budget.

    bytes: the budget; under "min" what was promised where that counts as kept, which it does not where several graphs share the budget.
    promised: the peak that the plan of the step, or of the graph, or Inductor's own account of its code says; None where a graph was planned
    as a part of a step that has no plan. has_bits: whether loss and gradients are those of the unplanned step, bit by bit. again: kernels
    that run again. error: why there is no step.
    """

    model: str
    compiler: str
    budget: str
    bytes: Optional[int] = None
    promised: Optional[int] = None
    measured: Optional[int] = None
    has_bits: Optional[bool] = None
    has_several_graphs: bool = False
    again: int = 0
    seconds: float = 0.0
    error: Optional[str] = None

    @property
    def is_over(self) -> bool:
        return self.measured is not None and self.bytes is not None and self.measured > self.bytes


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """Inductor's code for CPUs gives the same bits however ops are fused, and draws random numbers as eager PyTorch does."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch._inductor.config.patch({"cpp.simdlen": 1, "fallback_random": True}):
            yield
    finally:
        torch.use_deterministic_algorithms(False)


def unplanned(compiler: str) -> Any:
    """Returns the backend to compare with: kernels one by one, none of which runs again, or stock Inductor."""
    return "inductor" if compiler == "inductor" else aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition)


def count_unread(model: nn.Module) -> int:
    """Returns the bytes that the model holds and no step reads, so that no graph knows them: rotary embeddings keep their first frequencies in
    a second buffer."""
    return sum(buffer.nbytes for name, buffer in model.named_buffers() if name.endswith("original_inv_freq"))


def run(entry: Entry, backend: Any, is_whole: bool = False) -> Step:
    """Compiles the model, and measures a step after those that compile. Equal seeds make models, batches and dropout equal. is_whole: whether the
    backend plans the whole step before, as llmmem.torch.compile does."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = entry.make().train()
    if is_whole:
        with entry.context():
            step = backend.compile(model, entry.batch(0))
    else:
        step = torch.compile(model, backend=backend, dynamic=entry.dynamic)
    seconds = []
    for number in (0, 1):  # Where experts are chosen in loops, another batch takes another graph.
        start = time.perf_counter()
        with entry.context():
            loss = step(**entry.batch(number))["loss"]
        loss.backward()
        del loss
        seconds.append(time.perf_counter() - start)
        model.zero_grad(set_to_none=True)
    return _measure(entry, model, step, seconds[0])


def _measure(entry: Entry, model: nn.Module, step: Any, seconds: float) -> Step:
    batch = entry.batch(1)
    torch.manual_seed(7)
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        with entry.context():
            results = step(**batch)
        results["loss"].backward()
    inputs = [value for value in batch.values() if isinstance(value, torch.Tensor)]
    return Step(resident_bytes(model, *inputs) + llmmem.torch.peak_bytes(profiler), results["loss"].detach(),
                [parameter.grad for parameter in model.parameters()], seconds)


def measure(name: str, compiler: str, budgets: Sequence[str] = BUDGETS, is_whole: bool = False) -> List[Line]:
    """Measures a model under the least budget, half way from there to the peak of the unplanned step of the same compiler, and a tenth above
    that peak. is_whole: see `run`."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with reproducible() if compiler == "inductor" else contextlib.nullcontext():
        try:
            plain = run(MODELS[name], unplanned(compiler))
        except Exception as error:
            return [Line(name, compiler, "unplanned", error=_shorten(error))]
        lines = [_measure_line(Line(name, compiler, "min"), plain, is_whole)]
        least = lines[0].promised
        if least is not None:
            sizes = {"half": (least + max(least, plain.peak)) // 2, "loose": plain.peak * 11 // 10}
            lines += [_measure_line(Line(name, compiler, budget, sizes[budget]), plain, is_whole) for budget in budgets if budget in sizes]
    return lines


def _measure_line(line: Line, plain: Step, is_whole: bool) -> Line:
    unread = count_unread(MODELS[line.model].make())
    backend = llmmem.torch.backend("min" if line.bytes is None else line.bytes, compiler=line.compiler, reserve=0 if is_whole else unread)
    try:
        step = run(MODELS[line.model], backend, is_whole)
        line.measured, line.has_bits, line.seconds = step.peak, is_equal(step, plain), step.seconds
    except Exception as error:
        line.error = _shorten(error)
    if backend.reports:
        line.promised = _promised(backend)
        line.has_several_graphs = backend.reports[-1].is_one_of_several
        line.again = sum(report.recomputed for report in backend.reports)
    if line.bytes is None and not line.has_several_graphs:
        line.bytes = line.promised
    return line


def _promised(backend: Any) -> Optional[int]:
    if backend.step_reports:
        return max(report.peak for report in backend.step_reports)
    # What a part of a step needs is not what the step needs.
    is_part = any(report.is_first_step for report in backend.reports)
    return None if is_part else max(report.compiled_peak or report.peak for report in backend.reports)


def _shorten(error: Exception) -> str:
    text = " ".join(str(error).split())
    begin = max(text.find("llmmem.torch:"), 0)
    return f"{type(error).__name__}: {text[begin:begin + 900]}"


def measure_all(names: Iterable[str], compiler: str, budgets: Sequence[str] = BUDGETS, jobs: int = 2,
                is_whole: bool = False) -> Iterator[List[Line]]:
    """Measures models, `jobs` at a time in processes of their own, and gives the lines of each in order. is_whole: see `run`."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, context, torch.set_num_threads, (1,)) as pool:
        yield from pool.map(measure, names, *map(_repeat, (compiler, budgets, is_whole)))


def _repeat(value: Any) -> Iterator[Any]:
    while True:
        yield value
