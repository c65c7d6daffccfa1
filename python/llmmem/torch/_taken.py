"""What the ops of a traced step take while they run: measured on a CPU, told by PyTorch's source for a GPU (_workspaces.py)."""

from typing import Any, Dict, Hashable, List, Mapping, Optional, Sequence

import torch
from torch import fx

from ._fake_cuda import is_flash
from ._machine import Machine
from ._measure import measure
from ._private import OpOverload, is_view
from ._workspaces import is_product, kept_workspaces, workspace

aten = torch.ops.aten

# The CPU's attention, which stands for that of a GPU. Of both kinds the first operands are the same.
_FORWARD, _BACKWARD = aten._scaled_dot_product_flash_attention_for_cpu, aten._scaled_dot_product_flash_attention_for_cpu_backward


class Taken:
    """What ops take. blocks: of each kind of op, one after the other. unknown: the names of the kinds of which it is not known.
    libraries: blocks that libraries keep from the first op among `users` on."""

    def __init__(self, blocks: Dict[Hashable, Sequence[int]], unknown: Sequence[str], libraries: Sequence[int] = (),
                 users: Sequence[Hashable] = ()) -> None:
        self.blocks, self.unknown, self.libraries, self.users = blocks, unknown, libraries, users


def measured(nodes: Mapping[Hashable, fx.Node]) -> Taken:
    """Runs each kind of op once, on the CPU."""
    found: Dict[Hashable, Sequence[int]] = {key: (size,) for key, (_, size) in measure(dict(nodes), times=False).items()}
    return Taken(found, sorted({str(node.target) for key, node in nodes.items() if key not in found}))


def of_gpu(nodes: Mapping[Hashable, fx.Node], machine: Optional[Machine]) -> Taken:
    """Tells what the kernels of CUDA take that stand for the ops, which were traced on a CPU. machine: None for a GPU that is not NVIDIA's,
    of which nothing is known."""
    blocks: Dict[Hashable, Sequence[int]] = {}
    unknown: List[str] = []
    for key, node in nodes.items():
        found = _blocks(node, machine)
        if found is None:
            unknown.append(str(_kernel(node)))
        else:
            blocks[key] = found
    return Taken(blocks, sorted(set(unknown)), kept_workspaces(list(nodes.values()), machine),
                 [key for key, node in nodes.items() if is_product(node)])


def _blocks(node: fx.Node, machine: Optional[Machine]) -> Optional[Sequence[int]]:
    if not isinstance(node.target, OpOverload):
        return None
    if is_view(node.target):
        return ()
    return workspace(node, machine, _kernel(node))


def _kernel(node: fx.Node) -> Any:
    """Returns the operator that PyTorch runs on CUDA: of attention the kernel that it chooses there."""
    packet = getattr(node.target, "overloadpacket", node.target)
    if packet not in (_FORWARD, _BACKWARD):
        return packet
    is_forward = packet is _FORWARD
    query = node.args[0 if is_forward else 1].meta["val"]  # type: ignore[union-attr]
    if is_flash(query, node.kwargs.get("attn_mask")):
        return aten._scaled_dot_product_flash_attention if is_forward else aten._scaled_dot_product_flash_attention_backward
    return aten._scaled_dot_product_efficient_attention if is_forward else aten._scaled_dot_product_efficient_attention_backward
