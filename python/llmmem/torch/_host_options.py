"""The options host_budget= and link=, and the host that the planner is given for a graph."""

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple, Union

from .._model import Host
from .._planner import _budget, parse_link
from ._collectives import is_collective
from ._costs import Device
from ._errors import UnsupportedGraphError
from ._modules import tensors_that_may_leave
from ._pool_in_use import pool_in_use
from ._program import Program, tensors_of

# Of a copy to or from a host, where the device's table has no link there: what lib/Device/Tables/README.md assumes.
LATENCY = 10_000


@dataclass(frozen=True)
class HostOptions:
    """budget: bytes of the host. rates: bytes per second to the host and back, or None for those of the device's table."""

    budget: int
    rates: Optional[Tuple[int, int]]


def host_options(host_budget: Union[int, str, None], link: Optional[str], budget: Union[int, str, None],
                 budget_of: str) -> Optional[HostOptions]:
    """Returns the options, or None where no host is asked for. Raises ValueError where they are wrong."""
    if host_budget is None:
        if link is not None:
            raise ValueError(f'link: {link!r} leads to no memory; give the bytes of the host, such as host_budget="64GB"')
        return None
    size = _budget(host_budget, "host_budget")
    if budget is None:
        raise ValueError(f'host_budget: {size:,} bytes of a host are of use where those of the device are short; give budget=, too, "min" for '
                         "the least")
    if budget_of == "reserved":
        raise ValueError('host_budget: what the caching allocator reserves is not simulated for copies that run at the same time as kernels; '
                         'give budget_of="allocated"')
    try:
        return HostOptions(size, None if link is None else parse_link(link))
    except ValueError as error:
        raise ValueError(f"link: {error}") from None


def host_of(options: HostOptions, program: Program, device: Device, compiler: Optional[str]) -> Host:
    """Returns the host for a graph. Raises ValueError where nothing leads there, and UnsupportedGraphError for graphs whose copies are not
    planned."""
    if compiler == "inductor":
        raise UnsupportedGraphError('llmmem.torch: host_budget: Inductor would reorder and fuse around copies to the host, whose bytes are not in '
                                    'its account: give compiler="eager", or leave host_budget out')
    if pool_in_use() is not None:
        raise UnsupportedGraphError("llmmem.torch: host_budget: the pool (llmmem.torch.use_pool) serves the places of plans without copies; leave one "
                                    "of both out")
    collective = next((kernel.node for kernel in program.kernels if is_collective(kernel.node)), None)
    if collective is not None:
        raise UnsupportedGraphError(f"llmmem.torch: {collective.name} ({collective.target}): host_budget is of graphs without collectives: ranks do "
                                    "not compare which tensors leave; leave host_budget out")
    if options.rates is None and device.host_link is None:
        raise ValueError(f'llmmem.torch: host_budget: {options.budget:,} bytes, but the device\'s table has no link to a host; give what it moves, '
                         'such as link="25GB/s", or link="25GB/s,20GB/s" to the host and back')
    to_host, to_device = options.rates or device.host_link[:2]
    latency = device.host_link[2] if device.host_link else LATENCY
    return Host(options.budget, to_host, to_device, latency, _on_the_device(program))


def _on_the_device(program: Program) -> Sequence[int]:
    """Returns the storages that may leave, without those that are on a CPU while kernels run on a GPU."""
    kinds = {number: next(tensor.device.type for tensor in tensors_of(program.storages[number].node) if tensor is not None)
             for number in tensors_that_may_leave(program)}
    has_gpu = any(kind != "cpu" for kind in kinds.values())
    return [number for number, kind in kinds.items() if not has_gpu or kind != "cpu"]
