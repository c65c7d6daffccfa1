#!/usr/bin/env python3
"""interrupt.py SIGNAL FOLDER COMMAND...: sends INT or TERM to a study after its third plan, and runs it again."""

import os
import re
import signal
import subprocess
import sys

name, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
sent = {"INT": signal.SIGINT, "TERM": signal.SIGTERM}[name]
# What runs in the background of a shell inherits that SIGINT is ignored.
process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
said = ""
for line in process.stderr:
    said += line
    if line.startswith("3 of "):
        process.send_signal(sent)
assert process.wait() == 128 + sent, f"exit code {process.returncode}: {said}"
done = re.search(r"interrupted: (\d+) of (\d+) plans are done and kept in .*; the same command goes on from there", said)
assert done and 3 <= int(done.group(1)) < int(done.group(2)), said
output = command[command.index("-o") + 1]
assert not os.path.exists(output), "a study was written though it was interrupted"
assert not [file for file in os.listdir(folder) if file.endswith(".tmp")], "a temporary was left"

again = subprocess.run(command, capture_output=True, text=True, check=True).stdout
points, planned = map(int, re.match(r"(\d+) points, \d+ with a plan, (\d+) of them", again).groups())
# One plan may have ended between the third and the signal.
assert planned <= points - 3 and planned > 0, again
