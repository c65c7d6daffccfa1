"""Whole files that come to an end: what is given instead of a file makes no program wait or fill its memory."""

import errno
import os
import select
import stat
from typing import IO, Union

# The limits are those of the tools (include/llmmem/Support/TextFile.h).
MOST_BYTES = 1 << 30
WRITER_SECONDS = 2
_PIECE_BYTES = 1 << 20


def read_text(path: Union[str, "os.PathLike[str]"]) -> str:
    """Returns the text of a file in UTF-8. It reads a pipe that a program writes to; for anything else that is no file an OSError says
    why."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            data = _read(file, status.st_size)
        elif stat.S_ISFIFO(status.st_mode):
            data = _read_pipe(file)
        elif os.path.exists(os.devnull) and status.st_rdev == os.stat(os.devnull).st_rdev:
            data = b""
        else:
            raise OSError(errno.EINVAL, "it is a device; name a file", str(path))
    return data.decode("utf-8")


def _read(file: IO[bytes], size: int = 0) -> bytes:
    """Reads in pieces, since a read takes the memory of all that it asks for, however little comes."""
    data = bytearray()
    while max(size, len(data)) <= MOST_BYTES:
        piece = file.read(_PIECE_BYTES)
        if not piece:
            return bytes(data)
        data += piece
    raise OSError(errno.EFBIG, f"it has more than {MOST_BYTES} bytes; is it the right one?", file.name)


def _read_pipe(file: IO[bytes]) -> bytes:
    first = b""
    if not select.select([file], [], [], WRITER_SECONDS)[0]:
        # The end of the file is all that there is before a program has opened the other end of a FIFO; with one that has
        # written nothing yet, a read would wait.
        try:
            first = os.read(file.fileno(), 1)
            if not first:
                raise OSError(errno.EPIPE, f"it is a pipe that no program has opened for writing within {WRITER_SECONDS} seconds; "
                              "start that program first, or name a file", file.name)
        except BlockingIOError:
            pass
    os.set_blocking(file.fileno(), True)
    return first + _read(file)
