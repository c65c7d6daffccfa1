"""Memory of CUDA at the places of a plan: the pool of include/llmmem/Runtime/ArenaPool.h as PyTorch's allocator.

PyTorch asks a pluggable allocator for each tensor and each workspace only where it is the allocator of the whole process. One that a
`torch.cuda.MemPool` has is asked for whole segments, from which the caching allocator cuts tensors by best fit, whatever a plan says. So the
pool takes the caching allocator's place (`torch.cuda.memory.change_current_allocator`), which must happen before PyTorch has used CUDA.
"""

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
from torch import fx

from .._model import Plan, Problem
from ._costs import Price
from ._lifetimes import boundary_of
from ._pool_in_use import pool_in_use, take_in_use
from ._private import takes_a_list

ROUNDING = 512
_MESSAGE = 512
_KEY = "llmmem_served"  # of a module's meta


class Usage(Structure):
    """llmmem_pool_usage, whose members the header describes."""

    _fields_ = [("size", c_size_t), *((name, c_int64) for name in (
        "allocated", "most_allocated", "reserved", "most_reserved", "arenas", "planned", "unknown", "taken", "most_elsewhere", "unused"))]


class _Plan(Structure):
    _fields_ = [("arena", c_int64), ("count", c_int64), ("steps", POINTER(c_int32)), ("sizes", POINTER(c_int64)), ("offsets", POINTER(c_int64))]


_SIGNATURES = {
    "llmmem_torch_pool": (c_void_p, [c_int, c_char_p, c_size_t]),
    "llmmem_pool_open": (c_void_p, [c_char_p, c_int, c_char_p, c_size_t]),
    "llmmem_pool_close": (None, [c_void_p]),
    "llmmem_pool_add_plan": (c_int, [c_void_p, POINTER(_Plan), c_char_p, c_size_t]),
    "llmmem_pool_remove_plan": (c_int, [c_void_p, c_int]),
    "llmmem_pool_begin": (c_int, [c_void_p, c_int, c_int64, c_int64, c_void_p]),
    "llmmem_pool_end": (None, [c_void_p]),
    "llmmem_pool_allocate": (c_uint64, [c_void_p, c_int64, c_void_p]),
    "llmmem_pool_free": (None, [c_void_p, c_uint64]),
    "llmmem_pool_get_usage": (None, [c_void_p, POINTER(Usage)]),
    "llmmem_pool_reset_usage": (None, [c_void_p])}


def library_path() -> str:
    """Returns where the pool's library is: in the package, or next to the planner's that LLMMEM_LIBRARY names."""
    planner = os.environ.get("LLMMEM_LIBRARY") or ""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(planner))]
    for folder in folders:
        path = os.path.join(folder, "libllmmem-pool.so")
        if os.path.exists(path):
            return path
    raise RuntimeError(f"llmmem.torch: the pool's library, libllmmem-pool.so, is in none of {', '.join(folders)}; `pip install .` builds it into "
                       "the package")


class Pool:
    """A pool of one device. Raises RuntimeError where the driver does not open it. driver: its library; None for that of PyTorch's process,
    which PyTorch allocates from after `use_pool`."""

    def __init__(self, device: int = 0, driver: Optional[str] = None) -> None:
        self.library = ctypes.CDLL(library_path())
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        message = ctypes.create_string_buffer(_MESSAGE)
        if driver is None:
            self.handle = self.library.llmmem_torch_pool(device, message, _MESSAGE)
        else:
            self.handle = self.library.llmmem_pool_open(os.fsencode(driver), device, message, _MESSAGE)
        if not self.handle:
            raise RuntimeError(f"llmmem.torch: {message.value.decode(errors='replace')}")

    def add(self, sequence: "Allocations") -> int:
        """Returns the number of a plan, whose arena is taken from the device. Raises RuntimeError where there is no memory for it."""
        count = len(sequence.places)
        columns = list(zip(*sequence.places)) or [(), (), ()]
        plan = _Plan(sequence.arena, count, (c_int32 * count)(*columns[0]), (c_int64 * count)(*columns[1]), (c_int64 * count)(*columns[2]))
        message = ctypes.create_string_buffer(_MESSAGE)
        number = int(self.library.llmmem_pool_add_plan(self.handle, byref(plan), message, _MESSAGE))
        if number < 0:
            raise RuntimeError(f"llmmem.torch: {message.value.decode(errors='replace')}")
        return number

    def begin(self, plan: int, first: int, end: int, stream: int) -> None:
        if self.library.llmmem_pool_begin(self.handle, plan, first, end, stream):
            raise RuntimeError(f"llmmem.torch: the pool has no plan {plan} with places from {first} to {end}")

    def end(self) -> None:
        self.library.llmmem_pool_end(self.handle)

    def remove(self, plan: int) -> bool:
        """Returns whether the plan's arena was returned: nothing of it was in use."""
        return not self.library.llmmem_pool_remove_plan(self.handle, plan)

    def allocate(self, size: int, stream: int = 0) -> int:
        return int(self.library.llmmem_pool_allocate(self.handle, size, stream))

    def free(self, address: int) -> None:
        self.library.llmmem_pool_free(self.handle, address)

    def usage(self) -> Usage:
        usage = Usage(size=ctypes.sizeof(Usage))
        self.library.llmmem_pool_get_usage(self.handle, byref(usage))
        return usage

    def reset_usage(self) -> None:
        self.library.llmmem_pool_reset_usage(self.handle)

    def close(self) -> None:
        self.library.llmmem_pool_close(self.handle)
        self.handle = None


@dataclass
class Allocations:
    """The allocations of a plan in its order. places: (step, bytes, offset). boundary: how many of them the forward makes."""

    arena: int
    places: List[Tuple[int, int, int]] = field(default_factory=list)
    boundary: int = 0


def allocations_of(problem: Problem, made: Plan, prices: Sequence[Price]) -> Allocations:
    """Returns what a plan's kernels allocate: each its results, then the blocks of its workspace. What the caller makes between forward and
    backward is not of the plan's kernels. Raises ValueError where a place is no multiple of 512, as for a problem of a CPU."""
    boundary = boundary_of(problem)
    cut = made.steps.index(boundary)
    offsets = {(place.step, place.value): place.offset for place in made.offsets}
    workspaces = {place.step: place.offset for place in made.workspaces}
    sequence = Allocations(-(-made.arena // ROUNDING) * ROUNDING)
    for number, step in enumerate(made.steps):
        if number == cut:
            sequence.boundary = len(sequence.places)
            continue
        op = problem.ops[step]
        passed_on = {written for written, _ in op.in_place}
        sequence.places += [(number, problem.values[written].bytes, offsets[number, written]) for written in op.writes
                            if (number, written) in offsets and problem.values[written].bytes and written not in passed_on]
        place = workspaces.get(number, 0)
        for size in prices[step if step < boundary else step - 1].blocks:
            sequence.places.append((number, size, place))
            place += size
    if any(size % ROUNDING or offset % ROUNDING for _, size, offset in sequence.places):
        raise ValueError(f"the plan has sizes or offsets that are no multiples of {ROUNDING}")
    return sequence


class Served:
    """A planned graph whose forward and backward allocate from the pool. Its arena is taken when it first runs."""

    def __init__(self, pool: Pool, sequence: Allocations) -> None:
        self.pool, self.sequence = pool, sequence
        self.plan: Optional[int] = None

    def __del__(self) -> None:
        # What is still in use of the arena keeps it.
        if self.plan is not None:
            self.pool.remove(self.plan)

    def wrap(self, run: Callable[[List[Any]], Any], is_backward: bool) -> Callable[[List[Any]], Any]:
        """Returns `run` with its allocations served."""

        def serve(arguments: List[Any]) -> Any:
            if self.plan is None:
                self.plan = self.pool.add(self.sequence)
            first, end = (self.sequence.boundary, len(self.sequence.places)) if is_backward else (0, self.sequence.boundary)
            self.pool.begin(self.plan, first, end, torch.cuda.current_stream().cuda_stream)
            try:
                return run(arguments)
            finally:
                self.pool.end()

        return takes_a_list(serve)


def use_pool() -> None:
    """Lets llmmem's pool serve all allocations of CUDA in this process, those of planned graphs at the places of their plans. Call it before
    PyTorch has used CUDA. What `torch.cuda` says of memory is then not available; `pool_usage` says it. Raises RuntimeError where PyTorch has
    allocated already, or the driver is not found."""
    if pool_in_use() is not None:
        return
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library_path(), "llmmem_torch_allocate", "llmmem_torch_free")
    torch.cuda.memory.change_current_allocator(allocator)
    take_in_use(Pool(torch.cuda.current_device()))


def pool_usage() -> Usage:
    """Returns what the pool holds, and how many allocations had the places of plans. Raises RuntimeError where `use_pool` was not called."""
    pool = pool_in_use()
    if pool is None:
        raise RuntimeError("llmmem.torch.pool_usage: PyTorch does not allocate from the pool; call llmmem.torch.use_pool() first")
    return pool.usage()


def serve(modules: Tuple[fx.GraphModule, fx.GraphModule], served: Served) -> None:
    """Lets `served_run` find what serves a planned graph's forward and backward."""
    for module, is_backward in zip(modules, (False, True)):
        module.meta[_KEY] = served, is_backward


def served_run(module: fx.GraphModule, run: Callable[[List[Any]], Any]) -> Callable[[List[Any]], Any]:
    """Returns `run`, the code of `module`, with its allocations served where they are to be."""
    found = module.meta.get(_KEY)
    return found[0].wrap(run, found[1]) if found else run
