#!/usr/bin/env python3
"""read-trace.py FILE [--counter-peak]: a reader of the Trace Event Format, by Chromium's document alone.

Checks that every event has the keys of its phase, that times are microseconds from 0 up, that complete events of one thread
lie within each other or apart, and that counters are numbers in order of time. Prints processes, threads and slices, nested;
with --counter-peak the largest sum of each counter.
"""

import collections
import json
import sys

NEEDED = {"X": ("name", "ts", "dur", "pid", "tid"), "C": ("name", "ts", "pid", "args"), "M": ("name", "pid", "args")}
TOLERANCE = 1e-6  # of microseconds: times are decimal fractions


def read(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    if data.get("displayTimeUnit") not in ("ms", "ns") or not isinstance(data.get("traceEvents"), list):
        sys.exit(f"{path}: expected displayTimeUnit ms or ns, and traceEvents")
    for number, event in enumerate(data["traceEvents"]):
        missing = [key for key in NEEDED.get(event.get("ph"), ("a known ph",)) if key not in event]
        if missing:
            sys.exit(f"event {number}: has no {missing[0]}: {event}")
        if event["ph"] != "M" and not event["ts"] >= 0:
            sys.exit(f"event {number}: begins before 0")
    return data["traceEvents"]


def nest(slices):
    """Returns (depth, slice) of one thread's complete events, outer ones first."""
    stack, nested = [], []
    for event in sorted(slices, key=lambda it: (it["ts"], -it["dur"])):
        end = event["ts"] + event["dur"]
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"] + TOLERANCE:
            stack.pop()
        if stack and stack[-1]["ts"] + stack[-1]["dur"] < end - TOLERANCE:
            sys.exit(f"{event['name']} at {event['ts']} overlaps the end of {stack[-1]['name']}")
        nested.append((len(stack), event))
        stack.append(event)
    return nested


def print_slices(events):
    for event in events:
        if event["ph"] == "M":
            what = {"process_name": f"process {event['pid']}", "thread_name": f"thread {event.get('tid')}"}[event["name"]]
            print(f"{what}: {event['args']['name']}")
    threads = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    for key in sorted(threads):
        for depth, event in nest(threads[key]):
            again = ", recompute" if event.get("cat") == "recompute" else ""
            print(f"{'  ' * depth}{event['name']} {event['ts']:.3f} to {event['ts'] + event['dur']:.3f} us{again}")


def counter_peaks(events):
    """Returns name -> (largest sum, when)."""
    peaks, last = {}, {}
    for event in events:
        if event["ph"] != "C":
            continue
        name = event["name"]
        for series, value in event["args"].items():
            if not isinstance(value, (int, float)) or value < 0:
                sys.exit(f"counter '{name}': '{series}' is no number from 0 up")
        if event["ts"] < last.get(name, 0):
            sys.exit(f"counter '{name}': goes back in time at {event['ts']}")
        last[name] = event["ts"]
        total = sum(event["args"].values())
        if total > peaks.get(name, (-1, 0))[0]:
            peaks[name] = (total, event["ts"])
    return peaks


def main():
    events = read(sys.argv[1])
    peaks = counter_peaks(events)
    if sys.argv[2:] == ["--counter-peak"]:
        for name, (total, when) in peaks.items():
            print(f"{name}: {total} at {when:.3f} us")
    else:
        print_slices(events)


if __name__ == "__main__":
    main()
