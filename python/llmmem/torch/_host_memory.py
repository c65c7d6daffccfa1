"""The memory of a host that holds tensors between their copies, and the copies themselves, as kernels of planned graphs.

Memory comes from the system and not from PyTorch's allocator of the device, so that what is measured there has no bytes of the host. On CUDA
it is page-locked, and each direction has a stream of its own: a start is an event of the current stream that the copy waits for, and an end
makes the current stream wait for the copy. On a CPU, whose memory is the host's, a start copies at once, and an end does nothing.

A copy is of a whole storage, and the tensor that comes back has the shape, strides and place in its storage of the one that left.
"""

import mmap
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple, Union

import torch

from .._errors import BudgetError
from ._live import Storage, key_of
from ._private import FakeTensor


@dataclass
class _Block:
    """Memory of the system. is_locked: whether it was registered with CUDA."""

    memory: mmap.mmap
    is_locked: bool


class HostMemory:
    """The bytes of a host that planned graphs use. budget: what tensors, and the blocks kept for those to come, must not exceed; each block
    takes whole pages. in_use: bytes of the tensors that are there. most: the largest of these sums so far."""

    def __init__(self, budget: int) -> None:
        self.budget, self.most = budget, 0
        self.used: Dict[int, Tuple[Storage, _Block]] = {}
        self.free: Dict[int, List[_Block]] = {}
        self.copies = _Copies()

    @property
    def in_use(self) -> int:
        self._reclaim()
        return sum(storage.bytes for storage, _ in self.used.values())

    def holds(self, tensor: torch.Tensor) -> bool:
        """Returns whether the tensor's bytes are here."""
        known = self.used.get(key_of(tensor))
        return known is not None and known[0].is_alive()

    def start_to_host(self, tensor: torch.Tensor) -> torch.Tensor:
        """Begins to copy a tensor's storage. Returns its place on the host. Raises BudgetError where there is no room."""
        if isinstance(tensor, FakeTensor):
            return like_storage(tensor, "cpu")
        storage = tensor.untyped_storage()
        place = self._allocate(storage.nbytes(), tensor.device.type == "cuda")
        self.copies.start(place, _bytes_of(tensor), tensor.device, is_to_host=True)
        return _like(place, tensor)

    def end_to_host(self, place: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        """Waits for the copy, until which `tensor` must be held. Returns the place."""
        if not isinstance(place, FakeTensor):
            self.copies.end(place, tensor.device)
        return place

    def start_to_device(self, place: torch.Tensor, device: torch.device) -> torch.Tensor:
        """Begins to copy what is on the host to a new tensor of the device."""
        if isinstance(place, FakeTensor):
            return like_storage(place, device)
        made = torch.empty(place.untyped_storage().nbytes(), dtype=torch.uint8, device=device)
        self.copies.start(made, _bytes_of(place), device, is_to_host=False)
        return _like(made, place)

    def end_to_device(self, tensor: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """Waits for the copy, until which `place` must be held. Returns the tensor."""
        if not isinstance(tensor, FakeTensor):
            self.copies.end(tensor, tensor.device)
        return tensor

    def _allocate(self, size: int, is_locked: bool) -> torch.Tensor:
        in_use = self.in_use
        if in_use + size > self.budget:
            raise BudgetError(f"llmmem.torch: a copy of {size:,} bytes to the host finds {in_use:,} of {self.budget:,} bytes in use there: give a "
                              "larger host_budget, or run each backward before the next forward", self.budget, None, 0)
        kept = [block for block in self.free.get(size, ()) if block.is_locked == is_locked]
        if kept:
            block = kept[-1]
            self.free[size].remove(block)
        else:
            if in_use + size + sum(length * len(blocks) for length, blocks in self.free.items()) > self.budget:
                self.release()
            block = _Block(mmap.mmap(-1, size), is_locked)
            if is_locked:
                _check_cuda(_runtime().cudaHostRegister(_address(block), size, 0))
        place = torch.frombuffer(block.memory, dtype=torch.uint8)
        self.used[key_of(place)] = Storage(place), block
        self.most = max(self.most, in_use + size)
        return place

    def _reclaim(self) -> None:
        for key in [key for key, (storage, _) in self.used.items() if not storage.is_alive()]:
            storage, block = self.used.pop(key)
            self.free.setdefault(storage.bytes, []).append(block)

    def release(self) -> None:
        """Gives the system back what no tensor uses."""
        self._reclaim()
        for block in [block for blocks in self.free.values() for block in blocks if block.is_locked]:
            # A copy from it may still run.
            torch.cuda.synchronize()
            _check_cuda(_runtime().cudaHostUnregister(_address(block)))
        self.free.clear()

    def __del__(self) -> None:
        for block in [block for blocks in self.free.values() for block in blocks if block.is_locked]:
            torch.cuda.synchronize()
            _runtime().cudaHostUnregister(_address(block))


class _Copies:
    """The copies that run. streams: of each device and direction. events: of the copies that nobody waited for yet, by where they write."""

    def __init__(self, cuda: Any = torch.cuda) -> None:
        self.cuda = cuda
        self.streams: Dict[Tuple[torch.device, bool], Any] = {}
        self.events: Dict[int, Any] = {}

    def start(self, target: torch.Tensor, source: torch.Tensor, device: torch.device, is_to_host: bool) -> None:
        if device.type != "cuda":
            target.copy_(source)
            return
        if (device, is_to_host) not in self.streams:
            self.streams[device, is_to_host] = self.cuda.Stream(device)
        stream = self.streams[device, is_to_host]
        # What is copied was written, and what is overwritten was read, before this point of the current stream.
        stream.wait_stream(self.cuda.current_stream(device))
        with self.cuda.stream(stream):
            target.copy_(source, non_blocking=True)
            self.events[target.data_ptr()] = stream.record_event()

    def end(self, target: torch.Tensor, device: torch.device) -> None:
        event = self.events.pop(target.untyped_storage().data_ptr(), None)
        if event is not None:
            self.cuda.current_stream(device).wait_event(event)


def like_storage(value: FakeTensor, device: Union[str, torch.device]) -> torch.Tensor:
    """Returns a tensor without bytes that lies in a storage of its own as `value` does."""
    with value.fake_mode:
        whole = torch.empty(value.untyped_storage().nbytes() // value.itemsize, dtype=value.dtype, device=device)
        return whole.as_strided(value.shape, value.stride(), value.storage_offset())


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the whole storage as bytes."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _like(whole: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Returns what lies in `whole` as `tensor` lies in its storage."""
    return torch.empty(0, dtype=tensor.dtype, device=whole.device).set_(whole.untyped_storage(), tensor.storage_offset(), tensor.shape,
                                                                        tensor.stride())


def _address(block: _Block) -> int:
    return torch.frombuffer(block.memory, dtype=torch.uint8).data_ptr()


def _runtime() -> Any:
    return torch.cuda.cudart()


def _check_cuda(result: Any) -> None:
    if int(result):
        raise RuntimeError(f"llmmem.torch: CUDA refuses to lock memory of the host for copies (error {int(result)}): give a smaller host_budget, "
                           "or raise the limit of locked memory (ulimit -l)")
