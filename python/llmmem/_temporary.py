"""Files and folders of a writer that may be killed: what it leaves, the next one removes.

As in include/llmmem/Support/TemporaryFile.h, a file is written as TARGET.XXXXXXXX.tmp next to its target and then renamed, and
its writer holds a lock on it as long as it lives. Where a file system knows no locks, or another user has written, nothing is
removed.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from typing import Iterator, List, Optional, Tuple

_TEMPORARY = re.compile(r"(?P<target>.+)\.[0-9a-f]{8}\.tmp")
_LOCK = ".lock"
_ATTEMPTS = 100


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _has_name(file: int) -> bool:
    """Returns whether the file still has its name. Another process may have seen it before its lock, and removed it."""
    return os.fstat(file).st_nlink > 0


def _take(file: int) -> bool:
    """Locks a file that this process has just made. Returns False where another process takes its writer for dead and removes it. On a file
    system without locks no process does so."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return _has_name(file)


def _lock_dead(path: str) -> Optional[int]:
    """Locks a file of this user whose writer has died."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    facts = os.fstat(file)
    if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and _try_lock(file) and _has_name(file):
        return file
    os.close(file)
    return None


def _names_in(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def remove_dead(target: str) -> None:
    """Removes the temporaries that dead writers of `target` left."""
    folder, name = os.path.split(os.path.abspath(target))
    for entry in _names_in(folder):
        match = _TEMPORARY.fullmatch(entry)
        path = os.path.join(folder, entry)
        lock = _lock_dead(path) if match and match["target"] == name else None
        if lock is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)
            os.close(lock)


def _make(path: str) -> Tuple[str, int]:
    """Creates a file next to `path` and locks it. Returns the file and its name."""
    for _ in range(_ATTEMPTS):
        name = f"{path}.{secrets.token_hex(4)}.tmp"
        try:
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        if _take(file):
            return name, file
        os.close(file)
    raise FileExistsError(errno.EEXIST, "each new file next to it is taken or removed by another program", path)


def write_bytes(path: str, data: bytes) -> None:
    """Writes `data` completely or not at all. Raises OSError."""
    remove_dead(path)
    name, file = _make(path)
    try:
        with os.fdopen(file, "wb", closefd=False) as stream:
            stream.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        os.close(file)


def _remove_dead_folders(prefix: str) -> None:
    parent = tempfile.gettempdir()
    for entry in _names_in(parent):
        path = os.path.join(parent, entry)
        # A file without a lock belongs to another program, or is not made yet.
        lock = _lock_dead(os.path.join(path, _LOCK)) if entry.startswith(prefix) and not os.path.islink(path) else None
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """Makes a folder that lasts as long as its `with`. Removes those of this prefix whose makers have died."""
    _remove_dead_folders(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        # It gets its name only when it is locked; without a lock others take the folder for abandoned.
        new, name = os.path.join(folder, _LOCK + ".new"), os.path.join(folder, _LOCK)
        lock = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _try_lock(lock)
            os.rename(new, name)
            yield folder
        finally:
            os.close(lock)
