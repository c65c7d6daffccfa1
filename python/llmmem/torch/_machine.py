"""What the bytes of kernels on a GPU depend on: the card at hand, or that of a table."""

import os
import re
import warnings
from dataclasses import dataclass
from typing import List, Optional, Union

import torch

from .._devices import Device, table

# The cards whose capability is 9 or more are those for which NVIDIA's guide of cuBLAS recommends 32 MiB, as their tables say.
_LARGE_WORKSPACE = 32 << 20
_FIRST_WITH_LARGE_WORKSPACE = 9
# Of any card of NVIDIA, for a bound where a table has no number.
_MOST_THREADS = 2048


@dataclass(frozen=True)
class Machine:
    """A GPU. major: of its compute capability, 8 for all before Hopper. processors: its multiprocessors. threads: that one of these holds."""

    major: int
    processors: int
    threads: int


def machine_of(device: Union[str, Device, None]) -> Optional[Machine]:
    """Returns the GPU at hand; without one that of the table `device`, None where that is none of a GPU of NVIDIA."""
    if torch.cuda.is_available():
        at_hand = torch.cuda.get_device_properties(torch.cuda.current_device())
        return Machine(at_hand.major, at_hand.multi_processor_count, at_hand.max_threads_per_multi_processor)
    return machine_of_table(device)


def machine_of_table(device: Union[str, Device, None]) -> Optional[Machine]:
    """Returns the GPU of the table `device`, whatever is at hand."""
    if isinstance(device, Device):
        return None
    found = table(device or "h100")
    gpu = found.get("gpu")
    if not gpu or torch.version.hip:
        return None
    major = _FIRST_WITH_LARGE_WORKSPACE if found.get("library_workspace_bytes", 0) >= _LARGE_WORKSPACE else _FIRST_WITH_LARGE_WORKSPACE - 1
    return Machine(major, gpu["multiprocessors"], gpu.get("threads", _MOST_THREADS))


def table_at_hand(names: List[str]) -> Optional[str]:
    """Returns which of the tables' names is that of the GPU at hand; None where there is no GPU, or no table of it."""
    if not torch.cuda.is_available():
        return None
    said = torch.cuda.get_device_name()
    found = table_named(said, names)
    if found is None:
        warnings.warn(f"llmmem.torch: there is no table of {said}, so costs are those of the h100; give device=, a table of your own, or "
                      'costs="measured"', stacklevel=2)
    return found


def table_named(said: str, names: List[str]) -> Optional[str]:
    """Returns the table of a card by the name that its driver says.

    >>> [table_named(said, ["a6000", "h100", "l4", "rtx4090"]) for said in
    ...  ("NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "NVIDIA RTX A6000", "NVIDIA L40S")]
    ['h100', 'rtx4090', 'a6000', None]
    """
    words = re.findall(r"[a-z0-9]+", said.lower())
    both = ["".join(pair) for pair in zip(words, words[1:])]
    return next((word for word in [*words, *both] if word in names), None)


def setting(name: str) -> Optional[str]:
    """Returns an environment variable that PyTorch reads, None where it is not set or empty."""
    return os.environ.get(name) or None
