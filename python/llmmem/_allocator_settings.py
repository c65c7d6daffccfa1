"""The settings of PyTorch's caching allocator of CUDA, as PYTORCH_CUDA_ALLOC_CONF has them.

The rules are those of c10/core/AllocatorConfig.cpp of PyTorch, and of its notes on CUDA
(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf).
"""

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

MIB = 1 << 20

# Sizes from 1 MiB to 64 GiB have one number of divisions for each power of two; smaller and larger ones have that of the nearest.
INTERVALS = 16


@dataclass(frozen=True)
class Settings:
    """Settings of the allocator; the default is what PyTorch does where nothing is set. All sizes are bytes.

    max_split_size: blocks of this size or more are never split, and serve only requests of this size or more; None for no limit.
    max_non_split_rounding: a request of at least max_split_size takes no block that is larger by this or more.
    divisions: into how many equal parts the way from a power of two to the next is divided, to round sizes up; one for each power from
        1 MiB on. 0 and 1 round to multiples of 512.
    expandable_segments: whether a stream has one segment for each pool, which grows.
    large_segment: what is asked of the driver for sizes above 1 MiB and below 10 MiB, and by what a segment of large blocks grows.
    garbage_collection_threshold: above this part of what `memory_fraction` allows, old free segments are returned; 0 for never.
    capacity: what the driver can give the process; None for no limit.
    memory_fraction: the part of `capacity` that the process may reserve (torch.cuda.set_per_process_memory_fraction); None for all.
    """

    max_split_size: Optional[int] = None
    max_non_split_rounding: int = 20 * MIB
    divisions: Tuple[int, ...] = (0,) * INTERVALS
    expandable_segments: bool = False
    large_segment: int = 20 * MIB
    garbage_collection_threshold: float = 0.0
    capacity: Optional[int] = None
    memory_fraction: Optional[float] = None

    @property
    def allowed(self) -> Optional[int]:
        """Returns the bytes that may be reserved; None for no limit."""
        if self.capacity is None or self.memory_fraction is None:
            return self.capacity
        return int(self.memory_fraction * self.capacity)

    @property
    def collects(self) -> bool:
        """Returns whether old segments are returned. PyTorch does so only where a fraction of the memory was set."""
        return self.garbage_collection_threshold > 0 and self.memory_fraction is not None and self.capacity is not None


def parse_settings(text: str, capacity: Optional[int] = None) -> Settings:
    """Returns the settings of a text such as "max_split_size_mb:128,expandable_segments:True", as in PYTORCH_CUDA_ALLOC_CONF.

    Keys that decide nothing about bytes of the device (pinned memory, locks, graphs) are skipped. Raises ValueError for others that are not
    known, for values that PyTorch refuses, and for another backend, whose bytes are not simulated.
    """
    found: Dict[str, Any] = {}
    for key, value in _items(text):
        if key in _READERS:
            name, read = _READERS[key]
            found[name] = read(key, value)
        elif key == "backend":
            if value != "native":
                raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: backend is {value!r}; only the native allocator's bytes are simulated")
        elif key not in _WITHOUT_BYTES and not key.startswith("pinned_"):
            raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key!r} is no setting that is known; expected one of "
                             f"{', '.join(sorted(_READERS))}")
    return Settings(capacity=capacity, **found)


def _items(text: str) -> List[Tuple[str, str]]:
    items = []
    for item in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text.replace(" ", "")):
        key, colon, value = item.partition(":")
        if not colon or not value:
            raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {item!r} is no key:value")
        items.append((key, value))
    return items


def _number(key: str, value: str) -> int:
    if not value.isdigit():
        raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} is {value!r}; expected a whole number")
    return int(value)


def _large_size(key: str, value: str) -> int:
    size = _number(key, value)
    if size < 20:
        raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} is {size}; expected at least 20")
    return size * MIB


def _segment_size(key: str, value: str) -> int:
    size = _number(key, value)
    if size < 2 or size % 2:
        raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} is {size}; expected an even number of MiB")
    return size * MIB


def _flag(key: str, value: str) -> bool:
    if value not in ("True", "False"):
        raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} is {value!r}; expected True or False")
    return value == "True"


def _fraction(key: str, value: str) -> float:
    try:
        fraction = float(value)
    except ValueError:
        fraction = -1.0
    if not 0 < fraction <= 1:
        raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} is {value!r}; expected a number between 0 and 1")
    return fraction


def _divisions(key: str, value: str) -> Tuple[int, ...]:
    """Reads one number for all sizes, or a list such as [256:1,512:2,>:8] of sizes in MiB; sizes below the first have its number."""
    if not value.startswith("["):
        return (_power_of_two(key, value),) * INTERVALS
    result, last, is_first = [0] * INTERVALS, 0, True
    for item in value.strip("[]").split(","):
        size, _, count = item.partition(":")
        divisions = _power_of_two(key, count)
        if size == ">":
            result[last:] = [divisions] * (INTERVALS - last)
            continue
        last = min(_power_of_two(key, size).bit_length() - 1, INTERVALS - 1)
        if last < 0:
            raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} has the size 0; expected a power of two")
        if is_first:
            result[:last], is_first = [divisions] * last, False
        result[last] = divisions
    return tuple(result)


def _power_of_two(key: str, value: str) -> int:
    number = _number(key, value)
    if number & (number - 1):
        raise ValueError(f"PYTORCH_CUDA_ALLOC_CONF: {key} has {number}; expected powers of two")
    return number


_READERS: Dict[str, Tuple[str, Callable[[str, str], Any]]] = {
    "max_split_size_mb": ("max_split_size", _large_size),
    "max_non_split_rounding_mb": ("max_non_split_rounding", _large_size),
    "roundup_power2_divisions": ("divisions", _divisions),
    "expandable_segments": ("expandable_segments", _flag),
    "large_segment_size_mb": ("large_segment", _segment_size),
    "garbage_collection_threshold": ("garbage_collection_threshold", _fraction),
    "per_process_memory_fraction": ("memory_fraction", _fraction)}
_WITHOUT_BYTES = {"release_lock_on_cudamalloc", "release_lock_on_hipmalloc", "graph_capture_record_stream_reuse"}
