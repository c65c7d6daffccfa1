#!/usr/bin/env python3
"""Saves while one rank's disk is full at one call: full_disk.py LIBRARY STEP DATA FOLDER LAUNCHER...

The run must fail with a message that names rank and file, leave the file as it was and no other. Prints a line for each."""
import os
import re
import subprocess
import sys

library, step, data, folder, launcher = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, "run")
run = ["llmmem-run", "--optimize=false", step, "--data", data, "--gemm", "builtin", "--save", path]
subprocess.run([*launcher, *run], check=True, capture_output=True)
before = open(path, "rb").read()
for full in ("0:posix_fallocate", "0:pwrite", "1:pwrite", "1:fsync"):
    preload = ["-x", f"LD_PRELOAD={library}", "-x", f"FULL_DISK={full}"]
    job = subprocess.run([*launcher, *preload, *run, "--resume", path], capture_output=True, text=True, timeout=60)
    message = re.search(rf"rank {full[0]} cannot [a-z ]+ '{re.escape(path)}': No space left on device", job.stderr)
    if job.returncode == 0 or not message:
        sys.exit(f"{full}: code {job.returncode}, expected a message of rank {full[0]}:\n{job.stderr}")
    if open(path, "rb").read() != before or os.listdir(folder) != ["run"]:
        sys.exit(f"{full}: the file has changed, or others are there: {os.listdir(folder)}")
    print(f"{full}: the file is as it was")
