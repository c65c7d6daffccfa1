"""Runs kernels once each, on operands of their shapes, and reads time and memory from the profiler's events."""

import statistics
from typing import Any, Callable, Dict, Hashable, List, Set, Tuple

import torch
from torch import fx
from torch.profiler import ProfilerActivity, profile, record_function

from . import _higher_order as higher_order
from ._measure_cuda import measure_on_cuda
from ._private import OpOverload, disable_current_modes, profiler_is_enabled, pytree
from ._program import hint, made_bytes, storage_bytes, tensors_of

MARK = "llmmem::"
# Timed runs of a kernel on a CPU, of which the median counts.
RUNS = 5


def measure(nodes: Dict[Hashable, fx.Node], times: bool = True) -> Dict[Hashable, Tuple[int, int]]:
    """Returns (nanoseconds, workspace in bytes) of each node's kernel. It omits kernels on a device that is absent, and those
    that refuse operands made up from shapes. The state of random numbers stays as it was. times: whether times are wanted; those of a GPU
    are 0 otherwise, and of a CPU those of one run."""
    results: Dict[Hashable, Tuple[int, int]] = {}
    if torch.cuda.is_available():
        on_gpu = {key: node for key, node in nodes.items() if isinstance(node.target, OpOverload) and "cuda" in _devices(node)}
        with disable_current_modes(), torch.no_grad(), torch.random.fork_rng(devices=[torch.cuda.current_device()]):
            results.update(measure_on_cuda(on_gpu, _operands, times))
    runs = [(key, node) for key, node in nodes.items() if _can_run(node)]
    # There is one profiler; a caller's own goes on.
    if not runs or profiler_is_enabled():
        return results
    with disable_current_modes(), torch.no_grad(), torch.random.fork_rng(devices=[]):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            done = [_run(node, number, RUNS if times else 1) for number, (key, node) in enumerate(runs)]
        windows, events = _events(profiler)
    for number, (key, node) in enumerate(runs):
        if done[number] and number in windows:
            peak = max(_peak(event for event in events if begin <= event[0] <= end) for begin, end in windows[number])
            results[key] = max(_nanoseconds(windows[number], RUNS if times else 1), 1), max(peak - made_bytes(node), 0)
    return results


def node_of(func: Any, args: Any, kwargs: Any, value_of: Callable[[torch.Tensor], Any]) -> fx.Node:
    """Returns an op as a node of a graph, as `measure` wants it, without its result. value_of: what stands for an operand."""
    graph = fx.Graph()

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        node = graph.placeholder("operand")
        node.meta["val"] = value_of(leaf)
        return node

    return graph.call_function(func, *pytree.tree_map(place, (tuple(args), kwargs)))


def peak_bytes(profiler: Any) -> int:
    """Returns the largest sum of bytes allocated since a profile with `profile_memory=True` began."""
    return _peak(_events(profiler)[1])


def _can_run(node: fx.Node) -> bool:
    return bool(higher_order.runs_of(node)) and _devices(node) <= {"cpu"}


def _devices(node: fx.Node) -> Set[str]:
    return {tensor.device.type for source in [node, *node.all_input_nodes] for tensor in tensors_of(source) if tensor is not None}


def _operand(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        # Ones are valid numbers, zeros are valid indices, and what is asserted is true.
        make = torch.ones if value.dtype.is_floating_point or value.dtype == torch.bool else torch.zeros
        elements = storage_bytes(value) // value.itemsize
        base = make(elements, dtype=value.dtype, device=value.device)
        return base.as_strided([hint(size) for size in value.shape], [hint(stride) for stride in value.stride()],
                               hint(value.storage_offset()))
    return hint(value) if isinstance(value, torch.SymInt) else value


def _operands(node: fx.Node) -> Any:
    """Returns the arguments of a node's kernel, made up from shapes."""
    return pytree.tree_map(
        lambda leaf: pytree.tree_map(_operand, higher_order.value_of(leaf)) if isinstance(leaf, fx.Node) else _operand(leaf),
        (node.args, node.kwargs))


def _nanoseconds(windows: List[Tuple[int, int]], runs: int) -> int:
    """Returns the median of each way's runs, of which the largest counts. Every way ran so many times, one after another."""
    taken = [end - begin for begin, end in sorted(windows)]
    return max(round(statistics.median(taken[first:first + runs])) for first in range(0, len(taken), runs))


def _run(node: fx.Node, number: int, times: int) -> bool:
    """Runs a kernel so many times in each of the ways that data let it run. Returns whether it accepted operands made up from shapes."""
    args, kwargs = _operands(node)
    try:
        for change in higher_order.runs_of(node):
            warm = node.target(*change(args), **kwargs)
            del warm
            for _ in range(times):
                changed = change(args)
                with record_function(f"{MARK}{number}"):
                    result = node.target(*changed, **kwargs)
                del result, changed
    except (RuntimeError, IndexError, ValueError, NotImplementedError):
        return False
    return True


def _events(profiler: Any) -> Tuple[Dict[int, List[Tuple[int, int]]], List[Tuple[int, int]]]:
    """Returns the times from begin to end of the marked runs of each number, and (time, bytes) of each allocation, in ns; freed bytes are
    negative."""
    windows: Dict[int, List[Tuple[int, int]]] = {}
    memory: List[Tuple[int, int]] = []
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            memory.append((event.start_ns(), event.nbytes()))
        elif event.name().startswith(MARK):
            windows.setdefault(int(event.name()[len(MARK):]), []).append((event.start_ns(), event.start_ns() + event.duration_ns()))
    return windows, memory


def _peak(events: Any) -> int:
    held = peak = 0
    for _, size in events:
        held += size
        peak = max(peak, held)
    return peak
