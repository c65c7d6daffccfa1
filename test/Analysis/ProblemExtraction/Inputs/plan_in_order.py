"""Writes a plan of a llmmem-problem of version 2: its ops in order, no two values with a byte in common."""

import json
import sys

with open(sys.argv[1]) as file:
    problem = json.load(file)
assert problem["version"] == 2
(device,) = problem.get("memories", [{"alignment": problem.get("alignment", 1)}])
alignment = device.get("alignment", 1)
values = {value["id"]: value for value in problem["values"]}
resident = sum(value["bytes"] for value in values.values() if value.get("resident"))
ops = problem["ops"]

top = 0


def take(size):
    global top
    offset = top
    top = -(-(top + size) // alignment) * alignment
    return offset


offsets, workspaces, last = [], [], {value: len(ops) for value in problem.get("keep", [])}
ends, free = {}, {}
for step, op in enumerate(ops):
    for value in op.get("reads", []):
        last[value] = max(last.get(value, 0), step)
    resource = op.get("resource", "compute")
    ready = [ends.get(value, 0) for value in op.get("reads", [])]
    free[resource] = max([free.get(resource, 0), *ready]) + op.get("cost", 0)
    for value in op["writes"]:
        last.setdefault(value, step)
        offsets.append([step, value, take(values[value]["bytes"])])
        ends[value] = free[resource]
    if op.get("workspace", 0):
        workspaces.append([step, take(op["workspace"])])

# Live bytes: an in-place result in addition to its operand, as nothing is shared.
writer = {value: step for step, op in enumerate(ops) for value in op["writes"]}
peak = max(
    resident
    + sum(values[value]["bytes"] for value, first in writer.items() if first <= step <= last[value])
    + op.get("workspace", 0)
    for step, op in enumerate(ops)
)
cost = sum(op.get("cost", 0) for op in ops)
plan = {
    "format": "llmmem-plan",
    "version": 2,
    "status": "feasible",
    "steps": [op["id"] for op in ops],
    "offsets": offsets,
    "workspaces": workspaces,
    "memories": [{"id": 0, "peak": peak, "arena": 0, "peak_lower_bound": 0}],
    "cost": cost,
    "base_cost": cost,
    "cost_lower_bound": 0,
    "time": max(free.values()),
    "base_time": max(free.values()),
    "time_lower_bound": 0,
    "seconds": 0,
}
ends_of_buffers = [offset + values[value]["bytes"] for _, value, offset in offsets]
ends_of_buffers += [offset + ops[step]["workspace"] for step, offset in workspaces]
plan["memories"][0]["arena"] = max(ends_of_buffers)
with open(sys.argv[2], "w") as file:
    json.dump(plan, file)
links = sum(op.get("cost", 0) for op in ops if op.get("resource") == "link")
print(f"cost {cost}, on the link {links}, time {plan['time']}")
