#!/usr/bin/env python3
"""left.py FOLDER: kills writers of llmmem._temporary, and looks at what stands in FOLDER after the next one."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from llmmem import _temporary

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
tempfile.tempdir = folder
os.environ["TMPDIR"] = folder
path = os.path.join(folder, "study.json")


def hold(code):
    """Starts a process that runs `code`, says a name, and waits to be killed."""
    process = subprocess.Popen([sys.executable, "-c", code + "\nprint(name, flush=True)\nimport signal\nsignal.pause()"],
                               stdout=subprocess.PIPE, text=True)
    return process, os.path.basename(process.stdout.readline().strip())


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def expect(*names):
    assert sorted(os.listdir(folder)) == sorted(names), os.listdir(folder)


for name in ("study.json.0123abcd.tmp", "other.json.0123abcd.tmp", "study.json.tmp"):
    open(os.path.join(folder, name), "w").close()
os.symlink(path, path + ".89abcdef.tmp")
stays = ("other.json.0123abcd.tmp", "study.json.tmp", "study.json.89abcdef.tmp")
# Killed while it writes.
writer, temporary = hold(f"""
import os
from llmmem import _temporary
def replace(name_of_temporary, path):
    global name
    name = name_of_temporary
    print(name, flush=True)
    import signal
    signal.pause()
os.replace = replace
_temporary.write_bytes({path!r}, b"text")""")
_temporary.write_bytes(path, b"text")
expect("study.json", temporary, *stays)
kill(writer)
_temporary.write_bytes(path, b"text")
expect("study.json", *stays)

maker, made = hold("from llmmem import _temporary\nfolder = _temporary.temporary_folder('llmmem-study-')\nname = folder.__enter__()")
os.makedirs(os.path.join(folder, "llmmem-study-foreign"))
with _temporary.temporary_folder("llmmem-study-") as own:
    expect("study.json", made, os.path.basename(own), "llmmem-study-foreign", *stays)
kill(maker)
with _temporary.temporary_folder("llmmem-study-") as own:
    expect("study.json", os.path.basename(own), "llmmem-study-foreign", *stays)
expect("study.json", "llmmem-study-foreign", *stays)

# Another takes a new file for a dead one's before it is locked, and removes it: the writer makes a new one.
make, taken = os.open, []


def open_and_lose(name, flags, mode=0o777):
    file = make(name, flags, mode)
    if flags & os.O_EXCL and len(taken) < 2:
        # The first is locked as well, the second removed alone.
        taken.append(make(name, os.O_RDWR))
        if len(taken) == 1:
            fcntl.flock(taken[0], fcntl.LOCK_EX)
        os.unlink(name)
    return file


os.open = open_and_lose
_temporary.write_bytes(path, b"again")
os.open = make
assert len(taken) == 2 and open(path, "rb").read() == b"again"
expect("study.json", "llmmem-study-foreign", *stays)
# The lock of a folder is held before it can be found.
rename, found = os.rename, []


def rename_and_look(name, to):
    found.append(_temporary._try_lock(make(name, os.O_RDWR)))
    rename(name, to)


os.rename = rename_and_look
with _temporary.temporary_folder("llmmem-study-") as own:
    assert found == [False], found
    expect("study.json", os.path.basename(own), "llmmem-study-foreign", *stays)
os.rename = rename
expect("study.json", "llmmem-study-foreign", *stays)
