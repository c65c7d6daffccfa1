#!/usr/bin/env python3
"""interrupt.py SIGNAL COMMAND...: sends INT or TERM to a command that would run for seconds, half a second after it began.

Fails unless it ends within ten seconds by that signal, and the folder that @OUT names in the command is empty: no output half
written, no temporary left. A command that has ended before the signal fails, too.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time


def main():
    sent = {"INT": signal.SIGINT, "TERM": signal.SIGTERM}[sys.argv[1]]
    with tempfile.TemporaryDirectory() as out:
        command = [word.replace("@OUT", out) for word in sys.argv[2:]]
        # What runs in the background of a shell inherits that SIGINT is ignored.
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        time.sleep(0.5)
        assert process.poll() is None, f"ended before the signal, with exit code {process.returncode}"
        process.send_signal(sent)
        code = process.wait(timeout=10)
        left = sorted(os.listdir(out))
    assert code in (-sent, 128 + sent), f"exit code {code}, expected the signal's"
    assert not left, f"left over: {left}"


main()
