#!/usr/bin/env python3
"""odd-files.py KIND FOLDER: every flag that reads a file is given one that is none, all tools at once.

KIND is fifo (nobody writes to it), device (/dev/zero) or folder. A tool that does not end with exit code 1 and a message that names the
file within the time is a fault.
"""

import os
import subprocess
import sys

SECONDS = 60  # a guard: each takes a fraction of one, a fifo two


def commands(folder):
    step, config, problem = (os.path.join(folder, name) for name in ("step.mlir", "config.json", "problem.json"))
    run = ["llmmem-run", step]
    data = ["--data", config]
    opt = ["llmmem-opt", "--checkpoint-budget=1GB", step]
    yield "topology", [*opt, "--mesh=auto", "--topology=@"]
    yield "device.json", [*opt, "--checkpoint-device=@"]
    yield "device.json", [*opt, "--checkpoint-device=@#0"]
    yield "op-table", [*opt, "--op-table=@"]
    yield "program", ["llmmem-opt", "@"]
    yield "program", ["llmmem-run", "@"]
    yield "text", [*run, "--data=@"]
    yield "ids", [*run, "--tokens=@"]
    yield "labels", [*run, *data, "--labels=@"]
    yield "tokenizer.json", [*run, *data, "--tokenizer=@"]
    yield "weights", [*run, *data, "--load=@"]
    yield "weights.json", [*run, *data, "--load=@"]
    yield "program", ["llmmem-bundle", "@", "-o", "@OUT"]
    yield "report.json", ["llmmem-bundle", step, "--report=@", "-o", "@OUT"]
    yield "config", ["llmmem-import", "@", "-o", "@OUT"]
    yield "config", ["llmmem-fit", "@", "--gpu=24GB"]
    yield "card.json", ["llmmem-fit", config, "--gpu=@"]
    yield "problem", ["llmmem-plan", "@"]
    yield "plan", ["llmmem-plan", "--check", problem, "@"]
    yield "buffers", ["llmmem-plan", "--pack", "@"]
    yield "program", ["llmmem-emulate", "@"]
    yield "bundle", ["llmmem-replay", "@", "--check"]
    yield "text", ["llmmem-replay", os.path.join(folder, "bundle.json"), "--data=@"]
    yield "ids", ["llmmem-replay", os.path.join(folder, "bundle.json"), "--tokens=@"]
    yield "config", ["llmmem-study", "@", "-o", "@OUT.json"]


def make(kind, folder, name):
    path = os.path.join(folder, name)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "device":
        os.symlink("/dev/zero", path)
    return path


def main():
    kind, folder = sys.argv[1:]
    started, faults = [], []
    for number, (name, command) in enumerate(commands(folder)):
        # All tools of C++ have one reader; that each flag goes by it, a fifo shows.
        if kind != "fifo" and name not in ("config", "bundle", "program"):
            continue
        place = os.path.join(folder, f"{kind}-{number}")
        os.mkdir(place)
        path = make(kind, place, name)
        words = [word.replace("@OUT", os.path.join(place, "out")).replace("@", path) for word in command]
        errors = open(os.path.join(place, "errors"), "w+")
        started.append((words, path, errors,
                        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)))
    for words, path, errors, process in started:
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = f"none after {SECONDS} s"
        errors.seek(0)
        said = errors.read()
        expected = {"fifo": "it is a pipe that no program has opened", "device": "it is a device", "folder": "Is a directory"}[kind]
        if code != 1 or path not in said or expected not in said or "Stack dump" in said:
            faults.append(f"{' '.join(words)}\n  exit code {code}, stderr: {said[:500]}")
    if faults or not started:
        sys.exit("\n".join([f"{len(started)} commands", *faults]))


if __name__ == "__main__":
    main()
