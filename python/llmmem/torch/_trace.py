"""What a step allocates and frees, in its order: from the ops that PyTorch runs on tensors that have shapes and no bytes.

The step itself runs, with autograd's own engine and the optimizer's own code, so what is saved, and when it is let go of, is what PyTorch
does. An op's results are new storages, and a storage is freed where nobody holds it any longer. What an op takes only while it runs is
told for each kind of op (_taken.py). Of storages that wrappers of several ranks let shrink to nothing and grow again, sizes are read before
each op.
"""

import contextlib
from dataclasses import dataclass
from typing import Any, Callable, Dict, Hashable, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch
from torch import fx

from ._live import Numbers, Storage, is_question, key_of, tensors_in
from ._measure import node_of
from ._private import READS_OF_A_NUMBER, TorchDispatchMode, is_gone, is_wrapper, local_part, pytree
from ._program import storage_bytes

FORWARD, BACKWARD, OPTIMIZER = PHASES = ("forward", "backward", "optimizer")
PARAMETER, GRADIENT, STATE, ACTIVATION, TEMPORARY, INPUT, GATHERED, TRANSFER, LIBRARY = KINDS = (
    "parameters", "gradients", "optimizer state", "activations", "temporaries", "inputs", "gathered parameters", "transfers", "libraries")
# What is in the host's memory, not the device's, and so is no event.
HOST = "host"


@dataclass(eq=False)
class Allocation:
    """Bytes that are held from one event to another. kind: one of KINDS, or None until it is known. stream: the number of the stream that
    asked for them; of a GPU each stream has blocks of its own."""

    bytes: int
    kind: Optional[str] = None
    stream: int = 0


@dataclass(frozen=True)
class Event:
    """The begin or the end of an allocation, in the phase of a step. Steps count from 0; what is there before the first has no phase."""

    allocation: Allocation
    is_begin: bool
    step: int
    phase: Optional[str]


@dataclass(frozen=True)
class _Run:
    """An op that ran, of which it is not known yet what it takes meanwhile."""

    key: Hashable
    step: int
    phase: Optional[str]


class Tracer(TorchDispatchMode):
    """Writes down what steps allocate while it is entered, inside of a mode of fake tensors. resized: returns the tensors whose storages
    change their sizes. staging: returns the bytes that a transfer between ranks takes while it runs, in addition to its operands.
    has_host: whether the device has a memory of its own, so that numbers of Python are in the host's."""

    def __init__(self, resized: Callable[[], Iterable[torch.Tensor]] = tuple,
                 staging: Callable[[Any, Sequence[torch.Tensor]], int] = lambda func, tensors: 0, has_host: bool = False) -> None:
        super().__init__()
        self.resized, self.staging = resized, staging
        self.numbers, self.kind_of_numbers = Numbers(), HOST if has_host else None
        self.written: List[Any] = []
        self.alive: Dict[int, Tuple[Storage, Allocation]] = {}
        # Of what is alive, that which may be freed by any op, as the storages' weak references.
        self.passing: Dict[int, int] = {}
        self.nodes: Dict[Hashable, fx.Node] = {}
        self.streams: Dict[Any, int] = {torch.cpu.current_stream(): 0}
        self.step, self.phase = 0, None

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def adopt(self, tensors: Iterable[torch.Tensor], kind: Optional[str]) -> None:
        """Says of which kind the tensors' storages are, which may be new ones, and that none of them is freed before its phase ends."""
        known = list(map(local_part, tensors))
        for tensor, allocation in zip(known, self._add(known)):
            allocation.kind = kind or allocation.kind
            self.passing.pop(key_of(tensor), None)

    def hold(self, size: int, kind: str) -> None:
        """Says that so many bytes are held from now on, of which no op makes a tensor."""
        self.written.append(Event(Allocation(size, kind), True, self.step, self.phase))

    @contextlib.contextmanager
    def during(self, step: int, phase: str) -> Iterator[None]:
        """Tells in which phase of which step the ops run meanwhile are. What was let go of since the last is freed before."""
        self._free_all()
        self.step, self.phase = step, phase
        try:
            yield
        finally:
            self._free_all()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        if any(map(is_wrapper, types)):
            return NotImplemented  # It runs ops on what it wraps.
        if self.phase is None or is_question(func):
            return func(*args, **kwargs)
        self._free()
        if self.phase == OPTIMIZER and func in READS_OF_A_NUMBER:
            # An optimizer reads its count of steps, on which no bytes depend.
            return 1.0
        if func.namespace == "c10d":
            return self._transfer(func, args, kwargs)
        key = _key_of(func, args, kwargs)
        node = None
        if key not in self.nodes:
            node = self.nodes[key] = _node_of(func, args, kwargs)
        results = func(*args, **kwargs)
        if node is not None:
            node.meta["val"] = _copies(results, node.meta.pop("copies"))
        self._add(tensors_in(pytree.tree_leaves((args, kwargs, results))))
        self.numbers.note(args, results)
        self.written.append(_Run(key, self.step, self.phase))
        return results

    def _transfer(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        operands = tensors_in(pytree.tree_leaves((args, kwargs)))
        for allocation in self._add(operands):
            allocation.kind = allocation.kind or TRANSFER
        buffer = Allocation(self.staging(func, operands), TRANSFER)
        self.written += [Event(buffer, is_begin, self.step, self.phase) for is_begin in (True, False)]
        return func(*args, **kwargs)

    def _add(self, tensors: Iterable[torch.Tensor]) -> List[Allocation]:
        found = []
        stream = self.streams.setdefault(torch.cpu.current_stream(), len(self.streams))
        for tensor in tensors:
            key = key_of(tensor)
            if not self._is_known(tensor):
                if key in self.alive:
                    self._end(self.alive[key][1])
                storage = Storage(tensor)
                self.alive[key] = storage, Allocation(storage.bytes, stream=stream)
                self.passing[key] = storage.reference.cdata
                self.written.append(Event(self.alive[key][1], True, self.step, self.phase))
            found.append(self.alive[key][1])
        return found

    def _is_known(self, tensor: torch.Tensor) -> bool:
        known = self.alive.get(key_of(tensor))
        return known is not None and known[0].is_alive()

    def _free(self) -> None:
        # What is known already is the result of an op, which has saved it, too.
        for allocation in self._add([number for number in self.numbers.take() if not self._is_known(number)]):
            allocation.kind = self.kind_of_numbers
        for key in [key for key, reference in self.passing.items() if is_gone(reference)]:
            del self.passing[key]
            self._end(self.alive.pop(key)[1])
        changed = []
        for tensor in self.resized():
            known = self.alive.get(key_of(tensor))
            if known is not None:
                known[1].kind = GATHERED
                if known[1].bytes != storage_bytes(tensor):
                    changed.append(tensor)
        for tensor in changed:
            self._end(self.alive.pop(key_of(tensor))[1])
        for allocation in self._add(changed):
            allocation.kind = GATHERED

    def _free_all(self) -> None:
        self.passing = {key: storage.reference.cdata for key, (storage, _) in self.alive.items()}
        self._free()
        held = [key for key, (_, allocation) in self.alive.items() if allocation.kind in (PARAMETER, GRADIENT, STATE, INPUT)]
        for key in held:
            del self.passing[key]

    def _end(self, allocation: Allocation) -> None:
        self.written.append(Event(allocation, False, self.step, self.phase))

    def events(self, taken: Dict[Hashable, Sequence[int]], libraries: Sequence[int] = (), users: Iterable[Hashable] = ()) -> List[Event]:
        """Returns all events. taken: of kinds of ops, the blocks that one takes while it runs. libraries: blocks that are held from the first
        op among `users` on."""
        found: List[Event] = []
        waits = set(users) if libraries else set()
        for item in self.written:
            if isinstance(item, Event):
                found.append(item)
                continue
            if item.key in waits:
                waits = set()
                found += [Event(Allocation(size, LIBRARY), True, item.step, item.phase) for size in libraries]
            blocks = [Allocation(size, TEMPORARY) for size in taken.get(item.key, ()) if size]
            found += [Event(block, is_begin, item.step, item.phase) for is_begin in (True, False) for block in blocks]
        _name_kinds(found)
        return [event for event in found if event.allocation.kind != HOST]


def _name_kinds(events: List[Event]) -> None:
    """Names what nobody has: what outlives the forward are activations, and the rest is temporary."""
    begun = {event.allocation: event for event in events if event.is_begin}
    for event in events:
        begin = begun[event.allocation]
        if not event.is_begin and event.allocation.kind is None:
            leaves = begin.phase == FORWARD and (event.step, event.phase) != (begin.step, FORWARD)
            event.allocation.kind = ACTIVATION if leaves else TEMPORARY
    for allocation, begin in begun.items():
        allocation.kind = allocation.kind or (ACTIVATION if begin.phase == FORWARD else TEMPORARY)


def _key_of(func: Any, args: Any, kwargs: Any) -> Hashable:
    """Returns a key that is equal for ops that run the same kernel on the same shapes."""
    def describe(value: Any) -> Hashable:
        if isinstance(value, torch.Tensor):
            return value.shape, value.stride(), value.dtype, value.device
        if isinstance(value, (list, tuple)):
            return tuple(map(describe, value))
        return value if isinstance(value, Hashable) else repr(value)

    return func, describe(args), tuple((name, describe(value)) for name, value in kwargs.items())


def _node_of(func: Any, args: Any, kwargs: Any) -> fx.Node:
    """Returns the op as a node with copies of its operands, so that it holds none."""
    copies: Dict[int, torch.Tensor] = {}
    node = node_of(func, args, kwargs, lambda operand: _copies(operand, copies))
    node.meta["copies"] = copies
    return node


def _copies(values: Any, copies: Dict[int, torch.Tensor]) -> Any:
    """Returns tensors of the same shapes, which share storages where those of `values` do. copies: the storage of each that was seen."""
    def copy(tensor: torch.Tensor) -> torch.Tensor:
        key = key_of(tensor)
        if key not in copies:
            copies[key] = torch.empty(storage_bytes(tensor), dtype=torch.uint8, device=tensor.device)
        if storage_bytes(tensor) % tensor.itemsize:
            return copies[key]
        return copies[key].view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    return pytree.tree_map_only(torch.Tensor, copy, values)
