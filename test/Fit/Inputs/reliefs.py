#!/usr/bin/env python3
"""reliefs.py FIT.json FOLDER: runs the commands of each way to train that llmmem-fit names, and compares whether there is a plan.

Ways that fit stand first, and of them those that take a card the least time for a token."""

import json
import subprocess
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    for relief in fit["reliefs"]:
        imported, planned = relief["commands"]
        subprocess.run(imported, shell=True, cwd=sys.argv[2], check=True)
        done = subprocess.run(planned, shell=True, cwd=sys.argv[2], stderr=subprocess.PIPE, text=True)
        if (done.returncode == 0) != relief["fits"]:
            sys.exit(f"{relief}: llmmem-opt ends with {done.returncode}\n{done.stderr}")
    order = [not relief["fits"] for relief in fit["reliefs"]]
    if order != sorted(order):
        sys.exit("a way that does not fit is before one that does")
    times = [it["time_ns"] * it["ranks"] / it["batch"] for it in fit["reliefs"] if it["fits"] and "time_ns" in it]
    if times != sorted(times):
        sys.exit(f"ways are not in the order of their times: {times}")
    print(f"{sum(it['fits'] for it in fit['reliefs'])} of {len(fit['reliefs'])} reliefs fit, as llmmem-opt finds")


if __name__ == "__main__":
    main()
