"""interrupt.py SIGNAL CHECKPOINT COMMAND...: sends the signal after a few steps; says how the run ended and what it saved."""

import json
import os
import signal
import struct
import subprocess
import sys

name, checkpoint, command = sys.argv[1], sys.argv[2], sys.argv[3:]
if os.path.exists(checkpoint):
    os.remove(checkpoint)
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
last = 0
for line in process.stdout:
    if line.startswith("step "):
        last = int(line.split()[1])
        if last == 3:
            process.send_signal(getattr(signal, "SIG" + name))
code = process.wait()
with open(checkpoint, "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    saved = json.loads(file.read(length))["__metadata__"]["llmmem.step"]
print(f"exit code {code} after step {last}, saved at step {saved}")
