"""What an error says where no plan fits: what is held whatever the plan, and what to give instead."""

from typing import List, Optional, Sequence

from .._errors import BudgetError
from .._model import Plan, Problem
from ._private import is_primal
from ._problem import storages_of
from ._program import Program


def describe_held(program: Program, problem: Problem, static_inputs: Sequence[int], reserved: int,
                  transferred: int) -> str:
    """Says what the caller holds under every plan, by kind. static_inputs: numbers of the primals that are parameters and buffers; none where
    a compiler does not say which. transferred: bytes that wrappers and transfers of several ranks hold."""
    primals = [node for node in program.module.graph.find_nodes(op="placeholder") if is_primal(node)]
    parameters = set(storages_of(program, [primals[number] for number in static_inputs]))
    inputs = set(storages_of(program, primals)) - parameters
    gradients = {number for number in storages_of(program, program.backward_outputs) if not problem.values[number].resident}
    results = {number for number in [*storages_of(program, program.forward_outputs), *program.tangents]
               if not problem.values[number].resident} - gradients

    def count(numbers: Sequence[int]) -> int:
        return sum(problem.values[number].bytes for number in numbers)

    kinds = [("other inputs", count(inputs)), ("gradients", count(gradients)), ("results and their gradients", count(results)),
             ("buffers of wrappers and transfers", transferred), ("what is reserved or held by other graphs", reserved)]
    alone = f"parameters and buffers alone are {count(parameters):,} bytes"
    if not parameters:
        alone, kinds = f"parameters, buffers and inputs alone are {count(inputs):,} bytes", kinds[1:]
    return (f"{alone}; in addition there are "
            + ", ".join(f"{size:,} of {kind}" for kind, size in kinds if size))


def suggest_reserve(budget: int, least: int, beside: int, earlier_peak: int, earlier_bound: int) -> str:
    """Says with which `reserve` the graphs before a graph break leave what this one lacks, or which larger budget does, as far as less of
    their peaks is less that they hold.

    least: of this graph with `beside`, what those before it hold. earlier_peak, earlier_bound: the largest peak of those and its least, both
    without what other graphs hold.
    """
    lacking = least - budget
    peak = earlier_peak - lacking
    # What is reserved counts with this graph, too.
    if peak >= earlier_bound and budget - peak <= beside - lacking:
        return f"reserve={budget - peak}"
    return f"budget={least} with reserve={max(min(least - earlier_peak, beside), 0)}"


def refuse(budget: int, made: Plan, least: Plan, held: str, reasons: List[str], sizes: Optional[str]) -> BudgetError:
    """Makes the error. made: the plan of the budget, which has a bound and perhaps a witness. least: the plan of the least bytes."""
    found = f"; the least that was found is {least.peak:,}" if least.is_feasible else ""
    why = [held, *reasons, *([made.witness.why] if made.witness else [])]
    if sizes:
        why.append(f"this is at the sizes {sizes}: call with smaller ones, or give a larger budget")
    return BudgetError(f"llmmem.torch: no plan within {budget:,} bytes: every plan needs at least {made.peak_lower_bound:,}{found}; "
                       + "; ".join(why), budget, least.peak if least.is_feasible else None, made.peak_lower_bound)
