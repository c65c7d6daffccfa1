"""Runs a command on a terminal of its own and prints what that shows, control characters escaped."""

import os
import pty
import sys

shown = []


def read(descriptor):
    data = os.read(descriptor, 4096)
    shown.append(data)
    return data


devnull = os.open(os.devnull, os.O_WRONLY)
stdout = os.dup(1)
os.dup2(devnull, 1)  # pty.spawn copies the terminal there
status = pty.spawn(sys.argv[1:], read)
os.dup2(stdout, 1)
text = b"".join(shown).decode()
print(text.encode("unicode_escape").decode())
sys.exit(os.waitstatus_to_exitcode(status))
