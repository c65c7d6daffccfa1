#!/usr/bin/env python3
"""Kills a run at each call of its save, and saves again: kill_while_saving.py LIBRARY STEP DATA FOLDER NAME CALL... -- OTHERS...

NAME is the checkpoint's: one that ends in .index.json has several files. A CALL (rename:2) is one of the library's. After each kill
something must be left; the next save must remove it, and keep its own files and OTHERS, which are made before. Prints a line for each
call. An index's files stay where a copy of it or another writer, who is alive, names them.
"""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys

at = sys.argv.index("--")
library, step, data, folder, name, *calls = sys.argv[1:at]
others = sys.argv[at + 1:]


def save(seed, call=None):
    environment = os.environ | ({"LD_PRELOAD": library, "KILL_AT": call} if call else {})
    run = ["llmmem-run", "--optimize=false", step, "--data", data, "--gemm", "builtin", "--save", os.path.join(folder, name),
           "--file-bytes", "100kB", "--seed", str(seed)]
    return subprocess.run(run, env=environment, capture_output=True, text=True).returncode


def expected():
    path = os.path.join(folder, name)
    named = set(json.load(open(path))["weight_map"].values()) if name.endswith(".json") else set()
    return {name, *named, *others}


shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
save(0)
for other in others:
    open(os.path.join(folder, other), "w").close()


def expect(files, when):
    if set(os.listdir(folder)) != files:
        sys.exit(f"{when}: {sorted(set(os.listdir(folder)) ^ files)} are too many or too few")


def write_index(file, named):
    with open(os.path.join(folder, file), "w") as index:
        json.dump({"weight_map": {"w": named}}, index)


def name_elsewhere():
    """Returns what a dead writer and somebody else name."""
    named = name.removesuffix(".safetensors.index.json") + "-89abcdef89abcdef-00001-of-00001.safetensors"
    dead, alive = f"{name}.89abcdef.tmp", f"{name}.01234567.tmp"
    open(os.path.join(folder, named), "w").close()
    write_index(dead, named)
    write_index("copy.json", named)
    save(200)
    expect(expected() | {named, "copy.json"}, "a copy of an index")
    os.remove(os.path.join(folder, "copy.json"))
    write_index(dead, named)
    write_index(alive, named)
    with open(os.path.join(folder, alive), "r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        save(201)
        expect(expected() | {named, alive}, "a live writer")
    # Half an index: nobody can say which files it names.
    write_index(dead, named)
    half = "half.index.json"
    with open(os.path.join(folder, half), "w") as file:
        file.write('{"weight_map": {')
    save(202)
    expect(expected() | {named, half}, "half of an index")
    os.remove(os.path.join(folder, half))
    write_index(dead, named)
    save(203)
    expect(expected(), "a writer that has died")
    print("what others name stays")


for seed, call in enumerate(calls, 1):
    if save(seed, call) != -signal.SIGKILL:
        sys.exit(f"{call}: was not killed")
    left = set(os.listdir(folder)) - expected()
    if not left:
        sys.exit(f"{call}: nothing is left, so nothing is tested")
    # Another seed gives the files other names.
    if save(100 + seed):
        sys.exit(f"{call}: the next save has failed")
    expect(expected(), call)
    print(f"{call}: {len(left)} left, none after the next save")
if name.endswith(".json"):
    name_elsewhere()
