#!/usr/bin/env python3
"""Kills a rank at random moments of a run that saves after every step, and continues: kill.py TIMES STEP DATA FOLDER SUFFIX LAUNCHER...

SUFFIX ends the checkpoints' names: "" for one file, ".index.json" for several.

Each time the job must end within ten seconds with a code that is not 0, name the rank, and leave a whole checkpoint (or
none, before the first). The parts together must print the losses of an undisturbed run, and a last save leaves its files alone in
the folder. Prints how often it killed."""
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

times, step, data, folder, suffix, launcher = int(sys.argv[1]), *sys.argv[2:6], sys.argv[6:]
LIMIT = 10.0
STEPS = 40


def command(path, steps):
    resume = ["--resume", path] if os.path.exists(path) else []
    return [*launcher, "llmmem-run", "--optimize=false", step, "--data", data, "--steps", str(steps), "--gemm", "builtin", "--save", path,
            "--save-every", "1", "--file-bytes", "100kB", *resume]


def losses(text):
    # A launcher may put what it says of the death after the number, on the same line.
    return {int(number): loss for number, loss in re.findall(r"^step (\d+)  loss ([\d.e+]+)(?=-|$)", text, re.M)}


def ranks_of(path):
    """Returns the processes that save to `path`, without their launcher."""
    found = []
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(file, "rb").read().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[0].endswith(b"llmmem-run") and path.encode() in words:
            found.append(int(file.split("/")[2]))
    return found


def run_and_kill(path, seconds):
    """Starts a run and kills one of its ranks after so many seconds of steps. Returns what it printed, and whether it was killed."""
    job = subprocess.Popen(command(path, STEPS), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    first = job.stdout.readline()
    while first and not first.startswith("step"):
        first = job.stdout.readline()
    time.sleep(seconds)
    ranks = ranks_of(path)
    if not ranks:
        return first + job.communicate(timeout=60)[0], False
    os.kill(random.choice(ranks), signal.SIGKILL)
    begin = time.monotonic()
    try:
        rest = job.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        sys.exit(f"the job did not end within {LIMIT} s of the death of a rank")
    if job.returncode == 0 or not re.search(r"rank \d+|RANK \d+", rest, re.I):
        sys.exit(f"expected a code that is not 0 and the rank's number; code {job.returncode}:\n{rest}")
    print(f"ended {time.monotonic() - begin:.1f} s after the kill", file=sys.stderr)
    return first + rest, True


def files_of(path):
    named = json.load(open(path))["weight_map"].values() if suffix else []
    return {os.path.basename(path), *named}


def main():
    random.seed(7)
    os.makedirs(folder, exist_ok=True)
    whole = os.path.join(folder, "undisturbed" + suffix)
    expected = losses(subprocess.run(command(whole, STEPS), capture_output=True, text=True, check=True).stdout)
    kills = runs = 0
    files = files_of(whole)
    while kills < times and runs < 2 * times + 2:
        path = os.path.join(folder, f"killed-{runs}{suffix}")
        runs += 1
        killed, seen = True, {}
        while killed and max(seen, default=0) < STEPS:
            text, killed = run_and_kill(path, random.uniform(0.0, 0.3))
            kills += killed
            for number, loss in losses(text).items():
                if expected.get(number, loss) != loss:
                    sys.exit(f"step {number} has the loss {loss}, undisturbed {expected[number]}")
                seen[number] = loss
            if kills >= times:
                break
        subprocess.run(command(path, 1), capture_output=True, text=True, check=True)
        files |= files_of(path)
        if set(os.listdir(folder)) != files:
            sys.exit(f"{sorted(set(os.listdir(folder)) ^ files)} are too many or too few")
    print(f"{kills} kills, no step differs")


main()
