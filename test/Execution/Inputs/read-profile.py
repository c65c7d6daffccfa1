"""Reads what --profile-json and --trace have written, and says what a test wants to know."""

import json
import sys

with open(sys.argv[1]) as file:
    profile = json.load(file)
with open(sys.argv[2]) as file:
    events = json.load(file)["traceEvents"]
assert profile["format"] == "llmmem-profile" and profile["version"] == 1 and profile["steps"] == 1
calls = profile["calls"]
assert all(call["ns"] > 0 for call in calls)
assert [event["args"]["name"] for event in events] == [call["name"] for call in calls]
ends = [event["ts"] + event["dur"] for event in events]
assert all(end <= event["ts"] + 1e-3 for end, event in zip(ends, events[1:]))
print("as many events as calls, one after another")
print("recomputed in the phases:", *sorted({call["phase"] for call in calls if call["recomputed"]}))
qkv = next(call for call in calls if call["name"] == "h.3.attn.qkv" and call["recomputed"])
print(f"a {qkv['kind']} of {qkv['name']}: block {qkv['block']}, {qkv['flops']} FLOPs")
