"""Collectives of a graph: ops that start a transfer between ranks, and ops that wait for it.

A start writes a buffer that nobody may read before its wait, which gives the same buffer on. Both may run again, since every rank runs
the same plan (_ranks.py), and so meets every transfer as often and in the same order as the others.
"""

from typing import Dict, List, Optional, Tuple

import torch
from torch import fx

from .._devices import Device
from ._private import FakeScriptObject, OpOverload, op_name, resolve_group

PASSED_ON = ("DeviceMesh", "ProcessGroup")
NAMESPACES = ("_c10d_functional", "c10d_functional", "_c10d_functional_autograd", "_dtensor")

# Of each op: messages to each other rank, the number of the argument that names the group, and whether the operand is read until the wait;
# all_reduce sends a clone of its operand.
_STARTS: Dict[str, Tuple[int, int, bool]] = {
    "all_gather_into_tensor": (1, 2, True), "reduce_scatter_tensor": (1, 3, True), "all_reduce": (2, 2, False), "all_to_all_single": (1, 3, True)}

# aten copies a transposed matrix in blocks of 60 x 60 elements.
TRANSPOSED_BLOCK = 3600
MEAN_BYTES = 12

# Each worker of gloo may hold the tensors of its last transfer for a while after the wait for it has returned.
GLOO_WORKERS = 2


def is_collective(node: fx.Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target.namespace in NAMESPACES


def is_wait(node: fx.Node) -> bool:
    return is_collective(node) and node.target.namespace == "_c10d_functional" and _name(node) == "wait_tensor"


def is_start(node: fx.Node) -> bool:
    return is_collective(node) and node.target.namespace == "_c10d_functional" and _name(node) in _STARTS


def keeps_operand(node: fx.Node) -> bool:
    """Returns whether the operand of a start is read until its wait."""
    return _STARTS[_name(node)][2]


def refusal(node: fx.Node) -> Optional[str]:
    """Returns why a collective cannot be planned, or None where it can."""
    if is_wait(node) or is_start(node):
        if len(node.all_input_nodes) != 1:
            return ("its sizes or its group are computed in the graph; ranks could not be shown to agree on them: give even splits and "
                    "a group that exists before the model is compiled")
        return None
    return (f"of the collectives, {', '.join(sorted(_STARTS))} and wait_tensor are planned; leave this one outside of the compiled "
            "model, or replace it by those")


def group_name(node: fx.Node) -> str:
    """Returns the name of the group of a start."""
    return str(node.args[_STARTS[_name(node)][1]])


def group_size(node: fx.Node) -> int:
    """Returns the number of ranks of a start's group."""
    return resolve_group(group_name(node)).size()


def transfer(node: fx.Node, ranks: int) -> Tuple[int, int]:
    """Returns messages and bytes of a start's transfer. With n ranks and S bytes of the whole value, an all_reduce takes 2 (n - 1) messages
    and 2 (n - 1) / n S bytes, and the others half of that (Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
    MPICH, 2005)."""
    whole = max(_bytes(node.meta["val"]), *(_bytes(source.meta["val"]) for source in node.all_input_nodes))
    messages = _STARTS[_name(node)][0] * (ranks - 1)
    return messages, messages * whole // ranks


def nanoseconds(node: fx.Node, device: Device) -> int:
    """Returns the modelled time of a collective. It is the start's; a wait takes none."""
    return 0 if is_wait(node) else device.transfer(*transfer(node, group_size(node)))


def staging(node: fx.Node) -> int:
    """Returns the bytes that a start takes in addition to its buffer, until its wait. Those of gloo were measured: it gathers into a
    buffer of its own, scatters a clone of the operand, and makes a contiguous copy of an operand that is none. NCCL's are its
    communicator's, outside of PyTorch's allocator."""
    operand = node.args[0].meta["val"]  # type: ignore[union-attr]
    if operand.device.type != "cpu":
        return 0
    own = {"all_gather_into_tensor": _bytes(node.meta["val"]), "reduce_scatter_tensor": _bytes(operand)}.get(_name(node), 0)
    return own + (0 if operand.is_contiguous() else _bytes(operand))


def workspace(node: fx.Node) -> int:
    """Returns the bytes that a start or a wait takes only while it runs: aten's block of a transposed copy, and a mean's divisor."""
    operand = node.args[0].meta["val"]  # type: ignore[union-attr]
    return (0 if operand.is_contiguous() else TRANSPOSED_BLOCK * operand.itemsize) + MEAN_BYTES


def knows_workspace(node: fx.Node) -> bool:
    return all(source.meta["val"].device.type == "cpu" for source in node.all_input_nodes)


def _name(node: fx.Node) -> str:
    return op_name(node.target)  # type: ignore[arg-type]


def _bytes(tensor: torch.Tensor) -> int:
    from ._program import hint
    return hint(tensor.numel()) * tensor.itemsize


def groups(nodes: List[fx.Node]) -> List[str]:
    """Returns the names of the groups that the starts among `nodes` need, in their order."""
    return list(dict.fromkeys(group_name(node) for node in nodes if is_start(node)))


def class_name(value: object) -> str:
    """Returns the name of a value's class; of the placeholder that tracing puts for an object, that of the object."""
    real = getattr(value, "real_obj", None) if isinstance(value, FakeScriptObject) else None
    return type(value if real is None else real).__name__


def is_passed_on(node: fx.Node) -> bool:
    """Returns whether a node's value is the mesh of a DTensor or a group, which holds no bytes of a device and which a graph passes on."""
    return class_name(node.meta.get("val")) in PASSED_ON
