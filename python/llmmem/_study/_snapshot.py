"""A plan as PyTorch's memory snapshot, which pytorch.org/memory_viz opens.

The format is that of torch.cuda.memory._snapshot(), pickled: segments with the blocks that they have at the end, and for
each device the events that led there. The arena is one segment; a buffer is allocated when the step begins that writes it,
and freed when its last reader has ended. Resident bytes are a segment of their own that is there from the start.
"""

import pickle
from typing import Any, Dict, List

ARENA, RESIDENT = 1 << 40, 1 << 44  # addresses


def make_snapshot(study: Dict[str, Any], point: Dict[str, Any]) -> bytes:
    timeline, program = point["timeline"], study["programs"][point["program"]]
    steps = timeline["steps"]
    events: List[Dict[str, Any]] = [_event("segment_alloc", RESIDENT, timeline["resident"], 0, "resident"),
                                    _event("alloc", RESIDENT, timeline["resident"], 0, "resident"),
                                    _event("segment_alloc", ARENA, timeline["arena"], 0, "arena")]
    begins: Dict[int, List[Any]] = {}
    ends: Dict[int, List[Any]] = {}
    for row in timeline["buffers"]:
        begins.setdefault(row[2], []).append(row)
        ends.setdefault(row[3], []).append(row)
    for number, (op, run, start, end, _) in enumerate(steps):
        where = [f"step {number}", program["ops"][op]["name"] + (" (again)" if run else ""), program["ops"][op]["phase"]]
        for row in begins.get(number, ()):
            value, kind = row[0], program["kinds"][row[1]]
            name = program["values"][value] if value >= 0 else "workspace"
            events.append(_event("alloc", ARENA + row[5], row[4], start // 1000, f"{kind} {name}", *where))
        for row in ends.get(number, ()):
            for action in ("free_requested", "free_completed"):
                events.append(_event(action, ARENA + row[5], row[4], end // 1000, *where))
    segments = [_segment(*part) for part in ((RESIDENT, timeline["resident"], "active_allocated"),
                                             (ARENA, timeline["arena"], "inactive")) if part[1] > 0]
    events = [event for event in events if event["size"] > 0]
    return pickle.dumps({"segments": segments, "device_traces": [events], "allocator_settings": {}, "external_annotations": []},
                        protocol=4)


def _event(action: str, address: int, size: int, time: int, *frames: str) -> Dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "compile_context": "N/A",
            "user_metadata": "", "frames": [{"filename": "llmmem", "line": 0, "name": name} for name in frames]}


def _segment(address: int, size: int, state: str) -> Dict[str, Any]:
    used = size if state == "active_allocated" else 0
    return {"device": 0, "address": address, "total_size": size, "allocated_size": used, "active_size": used,
            "requested_size": used, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
            "frames": [], "blocks": [{"address": address, "size": size, "requested_size": used, "state": state, "frames": []}]}
