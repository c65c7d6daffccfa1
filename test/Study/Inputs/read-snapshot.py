#!/usr/bin/env python3
"""read-snapshot.py FILE: replays a memory snapshot of PyTorch, refusing what no allocator could have done."""

import pickle
import sys

with open(sys.argv[1], "rb") as file:
    snapshot = pickle.load(file)
segments, live, count, most, now = [], {}, 0, 0, -1
for event in snapshot["device_traces"][0]:
    begin, end = event["addr"], event["addr"] + event["size"]
    assert event["time_us"] >= now, "goes back in time"
    now = event["time_us"]
    if event["action"] == "segment_alloc":
        segments.append((begin, end))
    elif event["action"] == "alloc":
        assert any(low <= begin and end <= high for low, high in segments), "outside of every segment"
        meets = [(low, high) for low, high in live.items() if low < end and begin < high]
        assert not meets, f"{event} meets {meets}"
        live[begin] = end
        count += 1
        most = max(most, sum(high - low for low, high in live.items()))
    elif event["action"] == "free_completed":
        assert live.pop(begin) == end, "frees what was not allocated"
print(f"{count} allocations, all freed but {len(live)}; most {most} bytes at once, none meets another")
