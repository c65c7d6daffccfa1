#!/usr/bin/env python3
"""one-more.py FIT.json FOLDER [TEXT]: runs the commands of llmmem-fit's answer for what it recommends and for the largest batch, and
those of a batch one larger; with a text to train on, the planned step of the largest too, whose arena must be as large as planned."""

import json
import re
import shlex
import subprocess
import sys

STEP = 128  # of the sequences that are looked for


def run(commands, folder):
    """Returns the exit code of the last command; the others must succeed."""
    for command in commands[:-1]:
        subprocess.run(shlex.split(command), cwd=folder, check=True)
    return subprocess.run(shlex.split(commands[-1]), cwd=folder, stderr=subprocess.DEVNULL).returncode


def with_shape(commands, batch, seq):
    return [re.sub(r"--seq \d+", f"--seq {seq}", re.sub(r"--batch \d+", f"--batch {batch}", command)) for command in commands]


def expect(what, code, wanted):
    if code != wanted:
        sys.exit(f"{what}: exit code {code}, expected {wanted}")


def train(folder, text, room):
    """Runs one step of what the commands planned, and compares the bytes that it touches."""
    done = subprocess.run(["llmmem-run", "step.mlir", "--steps", "1", "--data", text], cwd=folder, check=True, capture_output=True,
                          text=True)
    planned, measured = map(int, re.search(r"arena predicted (\d+) bytes, measured (\d+)", done.stdout).groups())
    if not planned == measured <= room:
        sys.exit(f"arena of {planned} bytes, {measured} measured; at most {room} are free in addition to what is resident")
    print(f"measured {measured} bytes of the arena, as planned")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    folder, commands = sys.argv[2], fit["commands"]
    batch, seq, longest = fit["largest_batch"], fit["seq"], fit["longest_sequence"]
    expect("one batch more", run(with_shape(commands, batch + 1, seq), folder), 2)
    expect(f"{longest} tokens", run(with_shape(commands, 1, longest), folder), 0)
    expect(f"batch {fit['recommended']['batch']}", run(commands, folder), 0)
    expect(f"batch {batch}", run(fit["largest_commands"] or commands, folder), 0)
    if len(sys.argv) > 3:
        train(folder, sys.argv[3], fit["card_bytes"] - fit["reserve_bytes"] - fit["resident_bytes"])
    print(f"the commands plan and run batch {batch}; of one more there is no plan")


if __name__ == "__main__":
    main()
