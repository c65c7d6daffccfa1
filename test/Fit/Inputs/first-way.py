#!/usr/bin/env python3
"""first-way.py FIT.json FOLDER: runs the commands of the fastest batch, or of the first way to train, and compares bytes and time with the answer."""

import json
import os
import subprocess
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    way = {**fit["recommended"], "commands": fit["commands"]} if fit["fits"] else fit["reliefs"][0]
    report = os.path.join(sys.argv[2], "report.json")
    for command in way["commands"]:
        flag = f" --memory-report-json={report}" if command.startswith("llmmem-opt") else ""
        subprocess.run(command + flag, shell=True, cwd=sys.argv[2], check=True, stderr=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    needed = sum(found["resident"].values()) + found["resident_padding"] + found["arena"]
    ns = found["step"]["time_ns"] + found["recompute"]["time_ns"]
    if (needed, ns) != (way["needed_bytes"], way["time_ns"]):
        sys.exit(f"{needed} bytes and {ns} ns, but llmmem-fit says {way['needed_bytes']} and {way['time_ns']}")
    print(f"{'the fastest batch' if fit['fits'] else way['way']} plans as it was said")


if __name__ == "__main__":
    main()
