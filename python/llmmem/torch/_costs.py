"""What a kernel costs: nanoseconds from a device's table, or measured; and the bytes that it takes only while it runs."""

from dataclasses import dataclass, replace
from typing import Dict, Hashable, List, Optional, Tuple, Union

import torch
from torch import fx
from torch.utils import flop_counter

import llmmem
from .._devices import Device
from . import _collectives, _workspaces
from . import _higher_order as higher_order
from ._collectives import is_collective
from ._errors import UnsupportedGraphError
from ._known_costs import known_or_measured
from ._machine import Machine, table_at_hand
from ._private import pytree
from ._program import Kernel, hint, storage_bytes, tensors_of

aten = torch.ops.aten

# They read as many bytes of their first operand as they write.
GATHERS = (aten.embedding, aten.index, aten.gather, aten.index_select, aten.slice_scatter)


# Tables of llmmem, with what PyTorch's allocator of a GPU rounds to.
_GPU_ALIGNMENT = 512
DEVICES = {name: replace(table, alignment=1 if name == "cpu" else _GPU_ALIGNMENT) for name, table in llmmem.DEVICES.items()}
# The rate of other types is that of f32.
NUMBERS = {torch.float16: "bf16", torch.bfloat16: "bf16", torch.float64: "f64"}


@dataclass(frozen=True)
class Price:
    """The price of a kernel. nanoseconds, flops: those of one run. workspace: bytes in addition to operands and results while it runs, 0
    where it is not known. knows_workspace: whether the workspace was measured, or is that of a table. blocks: of the workspace, one after
    the other, where they are known."""

    nanoseconds: int
    workspace: int
    flops: int
    knows_workspace: bool
    blocks: Tuple[int, ...] = ()


def get_device(device: Union[str, Device, None], nodes: List[fx.Node]) -> Device:
    """Returns the table that is named or in a file, or that of the graph's tensors."""
    if isinstance(device, Device):
        return device
    if device is None:
        kinds = {tensor.device.type for node in nodes for tensor in tensors_of(node) if tensor is not None}
        device = "cpu" if kinds <= {"cpu"} else table_at_hand(list(DEVICES)) or "h100"
    if device in DEVICES:
        return DEVICES[device]
    try:
        return replace(llmmem.device(device), alignment=_GPU_ALIGNMENT)
    except ValueError as error:
        raise ValueError(f"device: {error}, or a llmmem.torch.Device") from None


def numbers_of(node: fx.Node) -> str:
    """What a kernel multiplies, as a table names it: the type of its first result that has one."""
    return next((NUMBERS.get(tensor.dtype, "f32") for tensor in tensors_of(node) if tensor is not None), "f32")


def count_flops(node: fx.Node) -> int:
    """Counts FLOPs by PyTorch's own formulas; a node without one has those of its graphs."""
    packet = getattr(node.target, "overloadpacket", node.target)
    if packet not in flop_counter.flop_registry:
        return higher_order.flops_inside(node, count_flops) if higher_order.is_higher_order(node) else 0
    args, kwargs = pytree.tree_map_only(fx.Node, higher_order.value_of, (node.args, node.kwargs))
    return hint(flop_counter.flop_registry[packet](*args, **kwargs, out_val=node.meta["val"]))


def count_traffic(node: fx.Node) -> int:
    """Counts the bytes of what is read and written, once each."""
    written = sum(_bytes(tensor) for tensor in tensors_of(node))
    sources = node.all_input_nodes
    if getattr(node.target, "overloadpacket", None) in GATHERS:
        return 2 * written + sum(_bytes(tensor) for source in sources[1:] for tensor in tensors_of(source))
    return written + sum(_bytes(tensor) for source in sources for tensor in tensors_of(source))


def _bytes(tensor: Optional[torch.Tensor]) -> int:
    """Returns the bytes of the elements; of an expanded tensor only those that exist."""
    return 0 if tensor is None else min(hint(tensor.numel()) * tensor.itemsize, storage_bytes(tensor))


def is_on_cuda(node: fx.Node) -> bool:
    """Returns whether the kernel has an operand or a result on a GPU."""
    return any(tensor is not None and tensor.device.type == "cuda" for each in (node, *node.all_input_nodes) for tensor in tensors_of(each))


def signature(node: fx.Node) -> Hashable:
    """Returns a key that is equal for nodes that run the same kernel on the same shapes."""

    def describe(argument: object) -> object:
        if not isinstance(argument, fx.Node):
            return argument if isinstance(argument, Hashable) else repr(argument)
        value = higher_order.value_of(argument)
        if isinstance(value, fx.GraphModule):
            return higher_order.describe(value)
        return tuple(None if tensor is None else (tuple(map(hint, tensor.shape)), tuple(map(hint, tensor.stride())),
                                                  tensor.dtype, tensor.device) for tensor in tensors_of(argument))

    leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
    return node.target, tuple(map(describe, leaves)), str(spec)


def price(kernels: List[Kernel], device: Device, measured: bool, workspaces: bool, machine: Optional[Machine] = None) -> List[Price]:
    """Returns a price for each kernel; equal kernels are priced once. measured: take the time of runs of each kind, which the user's cache may
    know from an earlier process. workspaces: take the bytes that it allocates in addition to its results. Either runs it where its device is at hand; else a kernel of CUDA has the workspace
    that PyTorch's source says for `machine`."""
    from ._measure import measure
    known: Dict[Hashable, Price] = {}
    if measured and any(map(is_collective, (kernel.node for kernel in kernels))):
        raise UnsupportedGraphError('llmmem.torch: costs="measured" gives each rank times of its own, and this graph has collectives, which '
                                    'every rank must plan alike: give costs="table"')
    keys = [signature(kernel.node) for kernel in kernels]
    first: Dict[Hashable, fx.Node] = {}
    for key, kernel in zip(keys, kernels):
        first.setdefault(key, kernel.node)
    own = {key: node for key, node in first.items() if not is_collective(node)}
    runs: Dict[Hashable, Tuple[int, int]] = (
        known_or_measured(own, measure) if measured else measure(own, times=False) if workspaces else {})
    for key, node in first.items():
        if is_collective(node):
            # A transfer is never run to be measured: the other ranks would have to take part.
            known[key] = Price(_collectives.nanoseconds(node, device), _collectives.workspace(node) if workspaces else 0, 0,
                               workspaces and _collectives.knows_workspace(node))
            continue
        flops = count_flops(node)
        nanoseconds = device.nanoseconds(flops, count_traffic(node), numbers_of(node))
        blocks = (_workspaces.workspace(node, machine) if workspaces and key not in runs and is_on_cuda(node) else None)
        least = max((higher_order.live_bytes(graph, lambda tensor: -(-storage_bytes(tensor) // device.alignment) * device.alignment)
                     for graph in higher_order.graphs_of(node)), default=0)
        time, workspace = runs.get(key, (nanoseconds, sum(blocks or ()) or least))
        workspace = workspace if workspaces else least
        known[key] = Price(time if measured else nanoseconds, workspace, flops,
                           workspaces and (key in runs or blocks is not None or higher_order.is_print(node)),
                           blocks or ((workspace,) if workspace else ()))
    return [known[key] for key in keys]
