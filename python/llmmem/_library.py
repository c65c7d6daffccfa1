"""The C interface of include/llmmem-c/Planner.h, Forms.h, HostCopies.h and Devices.h by ctypes. The structures here have its fields in its order."""

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8,
                    c_void_p)
from typing import Any

OK, INVALID, CANCELLED = 0, 1, 2

Progress = CFUNCTYPE(None, c_void_p, c_char_p)
Question = CFUNCTYPE(c_int32, c_void_p)


class SizedStructure(Structure):
    """A structure that begins with its own size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class Problem(SizedStructure):
    _fields_ = [
        ("size", c_size_t), ("budget", c_int64), ("alignment", c_int64),
        ("num_values", c_int64), ("value_bytes", POINTER(c_int64)), ("value_resident", POINTER(c_uint8)),
        ("value_names", POINTER(c_char_p)),
        ("num_ops", c_int64), ("op_costs", POINTER(c_int64)), ("op_workspaces", POINTER(c_int64)),
        ("op_reads_begin", POINTER(c_int64)), ("op_reads", POINTER(c_int32)),
        ("op_writes_begin", POINTER(c_int64)), ("op_writes", POINTER(c_int32)),
        ("op_in_place_begin", POINTER(c_int64)), ("op_in_place", POINTER(c_int32)),
        ("op_recompute", POINTER(c_uint8)), ("op_blocks", POINTER(c_int64)), ("op_phases", POINTER(c_uint8)),
        ("op_names", POINTER(c_char_p)),
        ("num_keep", c_int64), ("keep", POINTER(c_int32)),
        ("op_micro_batches", POINTER(c_int64))]


class Offset(Structure):
    _fields_ = [("step", c_int32), ("value", c_int32), ("offset", c_int64)]


class Plan(SizedStructure):
    _fields_ = [
        ("size", c_size_t), ("status", c_int32), ("reserved", c_int32),
        ("num_steps", c_int64), ("steps", POINTER(c_int32)),
        ("num_offsets", c_int64), ("offsets", POINTER(Offset)),
        ("num_workspaces", c_int64), ("workspaces", POINTER(Offset)),
        ("peak", c_int64), ("arena", c_int64), ("cost", c_int64), ("base_cost", c_int64),
        ("cost_lower_bound", c_int64), ("peak_lower_bound", c_int64), ("seconds", c_double),
        ("witness", c_char_p), ("witness_bytes", c_int64), ("witness_op", c_int32), ("witness_proved", c_int32)]


class PlanOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("policy", c_char_p), ("seconds", c_double), ("user", c_void_p),
                ("progress", Progress), ("is_cancelled", Question)]


class Form(SizedStructure):
    _fields_ = [("size", c_size_t), ("problem", POINTER(Problem)), ("num_tilings", c_int64),
                ("num_tiled_ops", c_int64), ("tiled_ops", POINTER(c_int32)), ("tiled_costs", POINTER(c_int64)),
                ("tiled_workspaces", POINTER(c_int64)), ("num_selected", c_int64), ("selected", POINTER(c_int32))]


class Forms(SizedStructure):
    _fields_ = [("size", c_size_t), ("num_forms", c_int64), ("forms", POINTER(POINTER(Form))), ("choice", c_int32),
                ("guessed_phases", c_int32)]


class FormNumber(Structure):
    _fields_ = [("form", c_int32), ("tiling", c_int32)]


class Host(SizedStructure):
    _fields_ = [("size", c_size_t), ("budget", c_int64), ("to_host", c_int64), ("to_device", c_int64), ("latency", c_int64),
                ("may_leave", POINTER(c_uint8))]


class HostCopy(Structure):
    _fields_ = [("value", c_int32), ("host_value", c_int32), ("to_host", c_int32), ("reserved", c_int32), ("cost", c_int64)]


class HostPlan(SizedStructure):
    _fields_ = [("size", c_size_t), ("num_copies", c_int64), ("copies", POINTER(HostCopy)), ("peak", c_int64), ("arena", c_int64),
                ("peak_lower_bound", c_int64), ("time", c_int64), ("base_time", c_int64), ("time_lower_bound", c_int64)]


class Violation(Structure):
    _fields_ = [("step", c_int64), ("rule", c_char_p), ("message", c_char_p)]


class Violations(SizedStructure):
    _fields_ = [("size", c_size_t), ("count", c_int64), ("items", POINTER(Violation))]


class Claim(Structure):
    _fields_ = [("claim", c_char_p), ("verdict", c_int32), ("reserved", c_int32), ("message", c_char_p)]


class Claims(SizedStructure):
    _fields_ = [("size", c_size_t), ("count", c_int64), ("items", POINTER(Claim))]


class SavedValue(Structure):
    _fields_ = [("value", c_int32), ("runs", c_int32), ("bytes", c_int64), ("steps_held", c_int64),
                ("steps_idle", c_int64), ("other_cost", c_int64), ("can_recompute", c_int32), ("reserved", c_int32)]


class Explanation(SizedStructure):
    _fields_ = [("size", c_size_t), ("count", c_int64), ("items", POINTER(SavedValue)), ("text", c_char_p)]


class PackOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("alignment", c_int64), ("capacity", c_int64), ("seconds", c_double),
                ("user", c_void_p), ("is_cancelled", Question)]


class Device(SizedStructure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("source", c_char_p),
                ("flops_per_ns_f32", c_int64), ("flops_per_ns_bf16", c_int64), ("flops_per_ns_f64", c_int64),
                ("bytes_per_ns", c_int64), ("launch_ns", c_int64), ("memory_bytes", c_int64), ("reserve_bytes", c_int64),
                ("multiprocessors", c_int64), ("block_shared_bytes", c_int64), ("l2_bytes", c_int64), ("json", c_char_p)]


# The text of an error; not c_char_p, which ctypes would turn into a copy and forget.
Error = POINTER(c_void_p)

SIGNATURES = {
    "llmmem_version": (c_char_p, []),
    "llmmem_free_text": (None, [c_void_p]),
    "llmmem_parse_bytes": (c_int32, [c_char_p, POINTER(c_int64), Error]),
    "llmmem_make_plan": (c_int32, [POINTER(Problem), POINTER(PlanOptions), POINTER(POINTER(Plan)), Error]),
    "llmmem_make_plan_with_proof": (c_int32, [POINTER(Problem), POINTER(PlanOptions), POINTER(POINTER(Plan)), Error,
                                              Error]),
    "llmmem_make_plan_of_forms": (c_int32, [POINTER(Forms), POINTER(PlanOptions), POINTER(POINTER(Plan)),
                                            POINTER(FormNumber), Error, Error]),
    "llmmem_free_plan": (None, [POINTER(Plan)]),
    "llmmem_parse_link": (c_int32, [c_char_p, POINTER(Host), Error]),
    "llmmem_make_plan_with_host": (c_int32, [POINTER(Problem), POINTER(Host), POINTER(PlanOptions), POINTER(POINTER(Plan)),
                                             POINTER(POINTER(HostPlan)), Error]),
    "llmmem_free_host_plan": (None, [POINTER(HostPlan)]),
    "llmmem_verify_plan_with_host": (c_int32, [POINTER(Problem), POINTER(Host), POINTER(Plan), POINTER(HostPlan),
                                               POINTER(POINTER(Violations)), Error]),
    "llmmem_verify_plan": (c_int32, [POINTER(Problem), POINTER(Plan), POINTER(POINTER(Violations)), Error]),
    "llmmem_free_violations": (None, [POINTER(Violations)]),
    "llmmem_check_proof": (c_int32, [POINTER(Problem), POINTER(Plan), c_char_p, POINTER(POINTER(Claims)), Error]),
    "llmmem_free_claims": (None, [POINTER(Claims)]),
    "llmmem_explain_plan": (c_int32, [POINTER(Problem), POINTER(Plan), POINTER(POINTER(Explanation)), Error]),
    "llmmem_free_explanation": (None, [POINTER(Explanation)]),
    "llmmem_pack": (c_int32, [c_int64, POINTER(c_int64), POINTER(c_int64), POINTER(c_int64), POINTER(PackOptions),
                              POINTER(c_int64), POINTER(c_int64), POINTER(c_int64), Error]),
    "llmmem_device_name": (c_char_p, [c_int64]),
    "llmmem_load_device": (c_int32, [c_char_p, POINTER(POINTER(Device)), Error]),
    "llmmem_free_device": (None, [POINTER(Device)]),
    "llmmem_kernel_time": (c_int32, [POINTER(Device), c_int32, c_int64, c_int64, POINTER(c_int64), Error]),
}


def load() -> ctypes.CDLL:
    """Returns the library in LLMMEM_LIBRARY, else the one next to this file, else an installed one."""
    beside = os.path.join(os.path.dirname(__file__), "libllmmem-c.so")
    path = os.environ.get("LLMMEM_LIBRARY") or (beside if os.path.exists(beside) else "libllmmem-c.so.0")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"llmmem's library is not found ({error}); `pip install .` builds it into the package, "
                          "LLMMEM_LIBRARY names another") from None
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = load()


class Cancelled(Exception):
    """Raised where the caller asked to cancel."""


def call(function: Any, *arguments: Any) -> None:
    """Calls a function that takes an error last; raises ValueError with its message."""
    message = c_void_p()
    result = function(*arguments, byref(message))
    if result == OK:
        return
    text = ctypes.string_at(message).decode(errors="replace") if message else "error"
    library.llmmem_free_text(message)
    if result == CANCELLED:
        raise Cancelled
    raise (ValueError if result == INVALID else RuntimeError)(text)
