#!/usr/bin/env python3
"""Stands for NVIDIA's ncu and compute-sanitizer, by the name that it is called by: runs the program, and says what they say."""

import os
import subprocess
import sys

FLAGS_WITH_VALUES = {"--tool", "--error-exitcode", "--clock-control", "--page", "--kernel-name-base", "--kernel-name", "--launch-count", "--metrics"}


def main():
    name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
    given = {}
    while arguments[0].startswith("--"):
        flag = arguments.pop(0)
        given[flag] = arguments.pop(0) if flag in FLAGS_WITH_VALUES else None
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    if name == "compute-sanitizer":
        found = os.environ.get("FAKE_SANITIZER_ERRORS", "0")
        summary = f"ERROR SUMMARY: {found} errors"
        if given["--tool"] == "racecheck":
            summary = f"RACECHECK SUMMARY: {found} hazards displayed ({found} errors, 0 warnings)"
        print(f"========= COMPUTE-SANITIZER\n{done.stdout}========= {summary}")
        return int(given["--error-exitcode"]) if found != "0" else 0
    metrics = given["--metrics"].split(",")
    print("==PROF== Connected\n" + done.stdout, end="")
    print(",".join(f'"{cell}"' for cell in ["ID", "Kernel Name", *metrics]))
    print(",".join(f'"{cell}"' for cell in ["", "", *("unit" for _ in metrics)]))
    for number, kernel in enumerate(given["--kernel-name"][len("regex:^("):-len(")$")].split("|")):
        print(",".join(f'"{cell}"' for cell in [number, kernel, *(str(7 + k) for k in range(len(metrics)))]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
