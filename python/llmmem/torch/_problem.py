"""A program and its prices as a problem of the planner."""

from typing import Any, Dict, List, Sequence

from .._model import Op, Problem, Value
from ._costs import Price
from ._private import RELEASES_TANGENTS
from ._program import Program, tensors_of


def make_problem(program: Program, prices: Sequence[Price], alignment: int = 1, reserved: int = 0) -> Problem:
    """Makes the planner's problem. Its ops are the forward's kernels, the *boundary*, and the backward's kernels. The boundary stands for
    what the caller does between forward and backward: it reads the forward's results and writes the tangents, so that every plan can be
    cut there.

    Value i is storage i. Then come tokens, which have 0 bytes and keep order where data does not: between kernels with an
    effect, and between the readers of an input and its overwriting. reserved: bytes that are held in addition to the graph.
    """
    values = [Value(-(-storage.bytes // alignment) * alignment, storage.node.name, storage.resident)
              for storage in program.storages]
    ops = [Op(list(kernel.reads), list(kernel.writes), price.nanoseconds, price.workspace, list(kernel.in_place), kernel.may_recompute,
              phase="forward" if kernel.is_forward else "backward", name=kernel.node.name)
           for kernel, price in zip(program.kernels, prices)]
    results = storages_of(program, program.forward_outputs)
    _make_results_once(ops, [number for number in results if not values[number].resident])
    boundary = Op(list(results), list(program.tangents), recompute=False, phase="forward", name="boundary")
    _order_effects(program, ops, boundary, values)
    _order_overwriting(program, ops, boundary, values)
    if reserved:
        values.append(Value(reserved, "reserved", True))
    # A step that is planned as a whole takes every result for one that the caller holds.
    dropped = set() if program.is_part else program.copied
    keep = dict.fromkeys([*(number for number in results if number not in dropped), *held_tangents(program), *storages_of(program, program.backward_outputs)])
    cut = program.boundary
    return Problem(values, [*ops[:cut], boundary, *ops[cut:]], [number for number in keep if not values[number].resident])


def held_tangents(program: Program) -> List[int]:
    """Returns the storages of the tangents that somebody else holds until the backward has returned.

    A loss is where the caller's backward begins: torch.autograd.backward holds its tangent. PyTorch hands the tangents of other results,
    which it made itself, to the compiled backward and lets go of them (`boxed_grads_call`), so that they die after their last reader; earlier
    versions hold all. Without a loss any result may be where the backward begins, with a tangent that the caller holds.
    """
    losses = [number for number in program.tangents if tensors_of(program.storages[number].node)[0].dim() == 0]
    return losses if losses and RELEASES_TANGENTS and not program.is_part else program.tangents


def storages_of(program: Program, nodes: Sequence[Any]) -> List[int]:
    """Returns the storages of some nodes, without repetition; None and numbers have none."""
    found: Dict[int, None] = {}
    for node in nodes:
        if node is not None and hasattr(node, "meta"):
            found.update(dict.fromkeys(program.sources(node)))
    return list(found)


def _make_results_once(ops: List[Op], results: Sequence[int]) -> None:
    """Lets results run once. The caller holds a result from where it is written, whether the backward reads it or not, so that freeing it
    for another run would free nothing."""
    held = set(results)
    for op in ops:
        if held.intersection(op.writes):
            op.recompute = False


def _token(values: List[Value]) -> int:
    values.append(Value(0, "token"))
    return len(values) - 1


def _order_effects(program: Program, ops: List[Op], boundary: Op, values: List[Value]) -> None:
    """Orders the forward's kernels with effects, the boundary, and those of the backward."""
    effects = [(kernel, op) for kernel, op in zip(program.kernels, ops) if kernel.is_ordered]
    chain = [op for kernel, op in effects if kernel.is_forward]
    chain += [boundary] + [op for kernel, op in effects if not kernel.is_forward]
    for earlier, later in zip(chain, chain[1:]):
        token = _token(values)
        earlier.writes = [*earlier.writes, token]
        later.reads = [*later.reads, token]


def _order_overwriting(program: Program, ops: List[Op], boundary: Op, values: List[Value]) -> None:
    """Orders whoever reads an input before what overwrites it, and in the forward."""
    writers = {kernel.node.args[0]: op for kernel, op in zip(program.kernels, ops) if not kernel.writes and kernel.is_ordered
               and "copy_" in str(kernel.node.target)}
    for kernel, op in zip(program.kernels, ops):
        changed = program.mutated.intersection(kernel.reads)
        if not changed or op in writers.values():
            continue
        token = _token(values)
        op.writes = [*op.writes, token]
        boundary.reads = [*boundary.reads, token]
        for target, writer in writers.items():
            if changed.intersection(program.sources(target)):
                writer.reads = [*writer.reads, token]
