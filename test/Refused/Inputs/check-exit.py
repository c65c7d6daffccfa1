#!/usr/bin/env python3
"""check-exit.py CODE MESSAGE... -- COMMAND...

Runs the command and fails unless it exits with CODE, its stderr has every MESSAGE, its stdout is empty, and the
folder that @OUT names in the command is as empty as it was: no output half written, no temporary left. A crash has a
negative code here, and so never passes for a refusal. A message is a piece of text; one with ' .. ' in it means its
parts, in that order.
"""

import os
import re
import subprocess
import sys
import tempfile


def main():
    split = sys.argv.index("--")
    code, messages, command = int(sys.argv[1]), sys.argv[2:split], sys.argv[split + 1:]
    if not messages:
        sys.exit("check-exit: a refusal without a message is none; say what it should mention")
    with tempfile.TemporaryDirectory() as out:
        command = [word.replace("@OUT", out) for word in command]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                              timeout=300)
        left = sorted(os.listdir(out))
    faults = []
    if done.returncode != code:
        faults.append(f"exit code {done.returncode}, expected {code}")
    for message in messages:
        pattern = ".*?".join(re.escape(part) for part in message.replace("@OUT", out).split(" .. "))
        if not re.search(pattern, done.stderr, re.DOTALL):
            faults.append(f"stderr does not say '{message}'")
    if "Stack dump" in done.stderr:
        faults.append("a crash report on stderr")
    if done.stdout:
        faults.append(f"stdout is not empty: {done.stdout[:200]!r}")
    if left:
        faults.append(f"left over: {left}")
    if faults:
        sys.exit("\n".join(["check-exit: " + " ".join(command), *faults, "stderr was:", done.stderr[:4000]]))


if __name__ == "__main__":
    main()
