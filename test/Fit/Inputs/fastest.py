#!/usr/bin/env python3
"""fastest.py FIT.json FOLDER: runs the commands of llmmem-fit's answer, whose plans must take the bytes and the time that it says of
what it recommends and of the largest batch; and plans every batch up to the largest under the card's bytes, of which none may
handle a fiftieth more tokens a second than what is recommended."""

import json
import os
import re
import shlex
import subprocess
import sys

LITTLE = 1.02


def plan(commands, folder):
    """Returns the bytes and nanoseconds of the step that the commands plan."""
    report = os.path.join(folder, "report.json")
    for command in [*commands[:-1], commands[-1] + f" --memory-report-json={report}"]:
        subprocess.run(shlex.split(command), cwd=folder, check=True, stderr=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    needed = sum(found["resident"].values()) + found["resident_padding"] + found["arena"]
    return needed, found["step"]["planned_time_ns"]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, expected {wanted}")


def of(point):
    return point["needed_bytes"], point["time_ns"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    folder, commands, best, largest = sys.argv[2], fit["commands"], fit["recommended"], fit["largest"]
    budget = f"--checkpoint-budget={fit['card_bytes'] - fit['reserve_bytes']}"
    expect("what is planned", [budget in command for command in (commands[1], fit["largest_commands"][1])], [True, True])
    expect("the searches", (fit["least_bytes_search"], fit["largest_search"]), ("--checkpoint-budget=min", budget))
    expect("the largest", (largest["batch"], fit["largest_batch"]), (fit["batches"][-1]["batch"],) * 2)
    expect(f"batch {best['batch']}", plan(commands, folder), of(best))
    expect(f"batch {largest['batch']}", plan(fit["largest_commands"], folder), of(largest))
    for batch in range(1, largest["batch"]):
        of_batch = [re.sub(r"--batch \d+", f"--batch {batch}", command) for command in commands]
        speed = batch / plan(of_batch, folder)[1]
        if speed > LITTLE * best["batch"] / best["time_ns"]:
            sys.exit(f"batch {batch} is faster than batch {best['batch']}, which is recommended")
    print(f"batch {best['batch']} of {largest['batch']} is the fastest: {best['slowdown_percent']:.1f} % slower than without a "
          f"budget, the largest {largest['slowdown_percent']:.1f} %")


if __name__ == "__main__":
    main()
