"""What earlier calls of a planned graph still hold when it is called again.

A plan is of one call: forward, backward, and what the caller holds of it. Compiled blocks, several forwards before one
backward, and results that outlive their step make it several. What the earlier ones hold is read from autograd's nodes and from
storages that are still alive, so that a forward without a backward counts for as long as somebody holds its results, and
tensors that hooks packed elsewhere (torch.utils.checkpoint, save_on_cpu) do not count.
"""

import gc
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence

from .._errors import BudgetError
from ._host_memory import HostMemory
from ._live import Storage, key_of, made_by, saved_by, tensors_in
from ._private import FakeTensor
from ._report import Report
from ._wrapped import storages_of_groups


@dataclass
class _Call:
    """One call. nodes: the nodes of autograd, which hold what the forward saved until its backward has run. results: what the caller was
    given."""

    nodes: List["weakref.ref[Any]"]
    results: Dict[int, "Storage"]


class Calls:
    """The calls of one graph, which may have been compiled several times for several sizes."""

    def __init__(self, memory: Optional[HostMemory] = None) -> None:
        """memory: of the host, where the plan copies tensors there."""
        self.memory = memory
        self.calls: List[_Call] = []
        self.parameters: Dict[int, Storage] = {}
        self.has_parameters = False

    def is_gone(self) -> bool:
        """Returns whether the models that called it are gone. A model that waits for its backward is not."""
        return self.has_parameters and not any(held.is_alive() for held in self.parameters.values())

    def watch(self, run: Callable[..., Any], report: Report, reserve: int, has_other_graphs: Callable[[], bool]) -> Callable[..., Any]:
        """Wraps `run`, so that it raises BudgetError where this call and the earlier ones would need more than was promised: the
        budget, or the peak of what runs where the least was asked for. reserve: of the bytes reserved in the report, those that
        earlier calls may take. has_other_graphs: whether the budget is shared, so that calls are not counted."""

        def check_and_run(*arguments: Any) -> Any:
            # Where DDP splits a graph, each part is called once while it is compiled, and holds nothing.
            if any(isinstance(argument, FakeTensor) for argument in arguments):
                return run(*arguments)
            try:
                self._check(arguments, report, reserve, has_other_graphs())
            except BudgetError:
                # Compiling leaves cycles, which may hold the results of the first call.
                gc.collect()
                self._check(arguments, report, reserve, has_other_graphs())
            results = run(*arguments)
            self._remember(arguments, results)
            return results

        return check_and_run

    def _check(self, arguments: Sequence[Any], report: Report, reserve: int, has_other_graphs: bool) -> None:
        self.calls = [call for call in self.calls if _is_pending(call) or any(held.is_alive() for held in call.results.values())]
        self.parameters = {key: held for key, held in self.parameters.items() if held.is_alive()}
        self._check_host(report)
        sharded = storages_of_groups()  # They are counted with what their wrappers hold.
        given = {key_of(tensor) for tensor in tensors_in(arguments)} | sharded
        pending = [call for call in self.calls if _is_pending(call)]
        held = {key: storage for call in self.calls for key, storage in {**call.results, **self._saved(call)}.items()
                if key not in given and storage.is_alive()}
        others = {key: storage for key, storage in self.parameters.items() if key not in given}
        # The plan's gradients are new tensors.
        added_to = {} if pending else {key_of(tensor.grad): Storage(tensor.grad) for tensor in tensors_in(arguments)
                                       if tensor.is_leaf and tensor.grad is not None}
        beside = sum(storage.bytes for storage in {**held, **others, **added_to}.values())
        gradients = sum(storage.gradient for storage in others.values())
        if pending:
            # The backward of the last call leaves gradients, to which those of the earlier calls are added.
            gradients += sum(Storage(tensor).gradient for tensor in tensors_in(arguments) if key_of(tensor) not in sharded)
        # What Inductor makes of a plan may need more than the plan, or less.
        peak = report.compiled_peak or report.peak
        needed = peak - reserve + max(reserve, beside + gradients)
        promised = peak if report.budget is None else report.budget
        if pending and (needed > promised or has_other_graphs):
            raise BudgetError(_again(len(pending), beside, gradients, needed, promised, has_other_graphs), promised, None, 0)
        if needed > promised and report.budget is not None:
            raise BudgetError(_left(held, others, added_to, peak, needed, promised, beside + gradients), promised, None, 0)

    def _check_host(self, report: Report) -> None:
        if self.memory is not None and report.host is not None and self.memory.in_use + report.host.peak > self.memory.budget:
            raise BudgetError(f"llmmem.torch: earlier calls of planned graphs have {self.memory.in_use:,} bytes on the host, and this one may take "
                              f"{report.host.peak:,} of {self.memory.budget:,} there: give a larger host_budget, or run each backward before the "
                              "next forward", self.memory.budget, None, 0)

    def _saved(self, call: _Call) -> Dict[int, Storage]:
        """Returns what waits for the backward on the device, and was not packed elsewhere."""
        return {key_of(tensor): Storage(tensor) for reference in call.nodes for tensor in saved_by(reference(), self.memory)}

    def _remember(self, arguments: Sequence[Any], results: Any) -> None:
        for tensor in tensors_in(arguments):
            key = key_of(tensor)
            if tensor.is_leaf and tensor.requires_grad and key not in self.parameters:
                self.parameters[key], self.has_parameters = Storage(tensor), True
        made, nodes = made_by(arguments, results)
        self.calls.append(_Call([weakref.ref(node) for node in nodes], {key_of(tensor): Storage(tensor) for tensor in made}))


def _again(count: int, beside: int, gradients: int, needed: int, promised: int, has_other_graphs: bool) -> str:
    if has_other_graphs:
        why = "several graphs share the backend and its budget, under which no repeated call is counted"
        fix = "give each model a backend of its own, compile it with fullgraph=True, or run each backward before the next forward"
    else:
        why = f"this call may need {needed:,} of {promised:,} bytes"
        fix = ("compile the whole model in place of its blocks, or the blocks with llmmem.torch.compile(..., regions=...), run each backward "
               "before the next forward, or give a larger budget")
    return (f"llmmem.torch: a planned graph is called again before the backward of {count} earlier call{'s' * (count > 1)}, as where "
            f"blocks are compiled one by one; those hold {beside:,} bytes and their gradients may take {gradients:,}, and {why}: "
            f"{fix}")


def _left(held: Dict[int, Storage], others: Dict[int, Storage], added_to: Dict[int, Storage], peak: int, needed: int, promised: int,
          reserve: int) -> str:
    if others:
        what = (f"other parameters that this graph was called with, {sum(storage.bytes for storage in others.values()):,} bytes "
                "and their gradients")
        fix = ("compile the whole model in place of its blocks, or the blocks with llmmem.torch.compile(..., regions=...), or drop the other "
               "model")
    elif added_to:
        what = f"gradients of earlier backwards, {sum(storage.bytes for storage in added_to.values()):,} bytes,"
        fix = ("drop them before the next call (zero_grad(set_to_none=True)), or where gradients accumulate plan with llmmem.torch.compile, "
               "which plans both kinds of step")
    else:
        what = f"results of earlier calls, {sum(storage.bytes for storage in held.values()):,} bytes,"
        fix = "delete them before the next call (`del outputs`)"
    return (f"llmmem.torch: {what} are still held when a planned graph is called again; in addition to them a step planned for {peak:,} may "
            f"need {needed:,} of {promised:,} bytes: {fix}, or give reserve={reserve}")


def _is_pending(call: _Call) -> bool:
    """Returns whether anything waits for the backward, wherever it is."""
    return any(saved_by(reference()) for reference in call.nodes)
