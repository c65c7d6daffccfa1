"""Device tables, as llmmem's C interface has them, and what a kernel takes by one."""

import json
import math
import os
from ctypes import POINTER, byref, c_int64
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple, Union

from . import _library as c

NUMBERS = {"f32": 0, "bf16": 1, "f64": 2}
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Device:
    """How long kernels take on a device: each the longer of its arithmetic and its traffic, and its launch.

    flops: per second, of a table in bf16. bandwidth: bytes per second. launch: nanoseconds. alignment: bytes that the allocator
    rounds to. flops_per_ns: of a table alone, in f32, bf16 and f64; without it all numbers have the rate `flops`. link: the way to other
    devices, as (bytes per second, nanoseconds of each message); without it a transfer moves its bytes through the memory. host_link: the way
    to a host, as (bytes per second to it, and back, nanoseconds of each copy).

    >>> import llmmem
    >>> llmmem.Device(flops=1e12, bandwidth=1e10, launch=10).nanoseconds(2000, 500)
    60
    """

    flops: float
    bandwidth: float
    launch: float
    alignment: int = 1
    flops_per_ns: Optional[Tuple[int, int, int]] = None
    link: Optional[Tuple[float, float]] = None
    host_link: Optional[Tuple[int, int, int]] = None

    def nanoseconds(self, flops: int, traffic: int, numbers: str = "f32") -> int:
        """Of a kernel that does `flops` on such numbers ("f32"; "bf16", which f16 is as fast as; "f64") and moves `traffic` bytes."""
        if self.flops_per_ns is None:
            return round(max(flops / self.flops, traffic / self.bandwidth) * 1e9 + self.launch)
        f32, bf16, f64 = self.flops_per_ns
        table = c.Device(flops_per_ns_f32=f32, flops_per_ns_bf16=bf16, flops_per_ns_f64=f64,
                         bytes_per_ns=round(self.bandwidth / 1e9), launch_ns=round(self.launch))
        made = c_int64()
        c.call(c.library.llmmem_kernel_time, byref(table), NUMBERS[numbers], min(flops, _MOST), min(traffic, _MOST), byref(made))
        return made.value

    def transfer(self, messages: int, traffic: int) -> int:
        """Nanoseconds of `traffic` bytes to other devices in `messages` one after another: the formula of include/llmmem/Device/DeviceModel.h.

        >>> import llmmem
        >>> llmmem.device("h100").transfer(14, 117440512)
        290979
        """
        bandwidth, latency = self.link or (self.bandwidth, 0.0)
        return math.ceil(traffic / bandwidth * 1e9) + round(messages * latency + self.launch)


def device(name: Union[str, "os.PathLike[str]"]) -> Device:
    """The shipped table of that name, or the table in a file that ends in .json. Raises ValueError, which names the shipped ones,
    or says what is wrong with the file.

    >>> import llmmem
    >>> llmmem.device("h100").nanoseconds(2 * 8192 * 4096 * 4096, 0, "bf16")
    279936
    """
    found = POINTER(c.Device)()
    c.call(c.library.llmmem_load_device, os.fsencode(name), byref(found))
    try:
        read = found.contents
        return Device(read.flops_per_ns_bf16 * 1e9, read.bytes_per_ns * 1e9, read.launch_ns,
                      flops_per_ns=(read.flops_per_ns_f32, read.flops_per_ns_bf16, read.flops_per_ns_f64), link=_link(read.json),
                      host_link=_host_link(read.json))
    finally:
        c.library.llmmem_free_device(found)


def table(name: Union[str, "os.PathLike[str]"]) -> Dict[str, Any]:
    """All that the table of that name or file says, as lib/Device/Tables/README.md has it. Raises ValueError as `device` does.

    >>> table("h100")["memory_bytes"]
    80000000000
    """
    found = POINTER(c.Device)()
    c.call(c.library.llmmem_load_device, os.fsencode(name), byref(found))
    try:
        read: Dict[str, Any] = json.loads(found.contents.json)
        return read
    finally:
        c.library.llmmem_free_device(found)


def _link(table: bytes) -> Optional[Tuple[float, float]]:
    """The first link of a table to other devices, by its slower direction."""
    links = [link for link in json.loads(table).get("links", ()) if link["to"] == "device"]
    return next(((min(link["up_bytes_per_ns"], link["down_bytes_per_ns"]) * 1e9, link["latency_ns"]) for link in links), None)


def _host_link(table: bytes) -> Optional[Tuple[int, int, int]]:
    """The first link of a table to a host."""
    links = [link for link in json.loads(table).get("links", ()) if link["to"] == "host"]
    return next(((link["up_bytes_per_ns"] * 10**9, link["down_bytes_per_ns"] * 10**9, link["latency_ns"]) for link in links), None)


def _shipped() -> Dict[str, Device]:
    found: Dict[str, Device] = {}
    while (name := c.library.llmmem_device_name(len(found))) is not None:
        found[name.decode()] = device(name.decode())
    return found


DEVICES = _shipped()
