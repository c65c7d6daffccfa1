"""Measured costs of kernels, kept for later processes in the user's cache: one file for each device and version of PyTorch.

The folder is llmmem/torch in $XDG_CACHE_HOME, or in ~/.cache. A kernel is known by its operator and the shapes, strides and types of its
operands. Whoever wants it measured anew deletes the file.
"""

import hashlib
import json
import os
import platform
import re
import warnings
from typing import Any, Callable, Dict, Hashable, Optional, Tuple

import torch
from torch import fx

from .._files import read_text
from .._temporary import write_bytes
from ._program import tensors_of

Costs = Dict[Hashable, Tuple[int, int]]
_FORMAT = {"format": "llmmem-torch-kernels", "version": 1}
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def known_or_measured(nodes: Dict[Hashable, fx.Node], measure: Callable[[Dict[Hashable, fx.Node]], Costs]) -> Costs:
    """Returns (nanoseconds, workspace in bytes) of each node's kernel, of which `measure` is only asked for those that the cache does not have.
    Where the cache cannot be read or written a warning says why, and the costs are those measured."""
    device = device_of(nodes)
    path = path_of(device)
    known = _read(path, device)
    names = {key: _name_of(key) for key in nodes}
    found: Costs = {key: known[name] for key, name in names.items() if name in known}
    missing = {key: node for key, node in nodes.items() if key not in found}
    measured = measure(missing) if missing else {}
    if any(names[key] for key in measured):
        # Another process may have written meanwhile.
        known = {**_read(path, device, warns=False), **{name: measured[key] for key, name in names.items() if name and key in measured}}
        _write(path, device, known)
    return {**found, **measured}


def device_of(nodes: Dict[Hashable, fx.Node]) -> str:
    """Says what runs the nodes: the processor with the threads that PyTorch uses, and the GPU where there is one among their tensors."""
    has_gpu = any(tensor is not None and tensor.device.type == "cuda" for node in nodes.values() for each in (node, *node.all_input_nodes)
                  for tensor in tensors_of(each))
    gpu = f", {torch.cuda.get_device_name()}" if has_gpu and torch.cuda.is_available() else ""
    return f"{_processor()}, {torch.get_num_threads()} threads{gpu}"


def path_of(device: str) -> str:
    """Returns the file of a device under this version of PyTorch."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "llmmem", "torch", f"{_digest(f'{device}, {torch.__version__}')[:16]}.json")


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.processor())
    except OSError:
        return platform.processor() or platform.machine()


def _name_of(key: Hashable) -> Optional[str]:
    """Returns a name that is the same in every process; None for a kernel that has none."""
    text = str(key)
    return None if _ADDRESS.search(text) else _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: str, device: str, warns: bool = True) -> Dict[Optional[str], Tuple[int, int]]:
    if not os.path.exists(path):
        return {}
    try:
        data = json.loads(read_text(path))
        if {key: data.get(key) for key in _FORMAT} != _FORMAT or data["device"] != device:
            raise ValueError("it is of another format or device")
        return {name: _cost_of(cost) for name, cost in data["kernels"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if warns:
            warnings.warn(f"llmmem.torch: {path}: {error}; the costs of kernels in it are not used, and are measured and written anew", stacklevel=2)
        return {}


def _cost_of(cost: Any) -> Tuple[int, int]:
    nanoseconds, workspace = cost
    if not (isinstance(nanoseconds, int) and isinstance(workspace, int) and nanoseconds > 0 <= workspace):
        raise ValueError(f"{cost} is no nanoseconds and bytes of a kernel")
    return nanoseconds, workspace


def _write(path: str, device: str, known: Dict[Optional[str], Tuple[int, int]]) -> None:
    data = {**_FORMAT, "device": device, "torch": torch.__version__, "kernels": known}
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_bytes(path, json.dumps(data).encode())
    except OSError as error:
        warnings.warn(f"llmmem.torch: {path}: {error.strerror}; the costs of kernels are measured anew by the next process", stacklevel=2)
