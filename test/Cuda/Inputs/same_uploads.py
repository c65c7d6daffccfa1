#!/usr/bin/env python3
"""Compares two logs of the fake driver with contents: same_uploads.py LOG OF-RUN LOG-OF-REPLAY

What a step is fed must be the same bytes at the same addresses, in any order: before the first replay of the graph too, but
for zeros, which the device's memory is full of at first.
"""

import sys


def zeros(count):
    hash = 0xcbf29ce484222325
    for _ in range(count):
        hash = hash * 0x100000001b3 % (1 << 64)
    return f"{hash:016x}"


def steps_of(path):
    """Returns, for each step, what was written before it: address -> (bytes, hash)."""
    steps, current = [], {}
    for line in open(path):
        words = line.split()
        if words[:1] == ["upload"]:
            current[words[1]] = (int(words[2]), words[5])
        elif words[:1] == ["replay"]:
            steps.append(current)
            current = {}
    return steps


def main():
    run, replay = map(steps_of, sys.argv[1:])
    if len(run) != len(replay) or not run:
        sys.exit(f"{len(run)} steps of one, {len(replay)} of the other")
    for number, (expected, found) in enumerate(zip(run, replay), 1):
        expected = {place: what for place, what in expected.items() if number > 1 or what[1] != zeros(what[0])}
        found = {place: what for place, what in found.items() if number > 1 or what[1] != zeros(what[0])}
        if expected != found:
            places = sorted(place for place in expected.keys() | found.keys() if expected.get(place) != found.get(place))
            sys.exit(f"step {number}: " + "; ".join(f"{place}: {expected.get(place)}, found {found.get(place)}" for place in places))
        print(f"step {number}: {len(found)} buffers are fed alike")


if __name__ == "__main__":
    main()
