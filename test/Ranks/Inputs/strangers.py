"""Starts a job of two ranks among strangers: strangers.py COMMAND...

Rank 0 listens; strangers of each kind connect, and none of them may learn, hold or end anything; then rank 1 starts, and the
job must do its work. Prints what rank 0 prints.
"""
import contextlib
import os
import socket
import struct
import subprocess
import sys
import time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(rank, port, **more):
    names = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
             "LOCAL_WORLD_SIZE": "2", "LLMMEM_JOB_TOKEN": "a token for this test"}
    return subprocess.Popen(sys.argv[1:], env=os.environ | names | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def connect(port, host="127.0.0.1"):
    for _ in range(1000):
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection((host, port), timeout=20)
        time.sleep(0.01)
    sys.exit("rank 0 does not listen")


def is_turned_away(stranger):
    try:
        return stranger.recv(1000) == b""
    except ConnectionResetError:
        return True


def expect_end(process, message):
    output = process.communicate(timeout=60)[0]
    if process.returncode != 1 or message not in output:
        sys.exit(f"code {process.returncode}, expected 1 and '{message}':\n{output}")


def main():
    port = free_port()
    first = start(0, port)
    connect(port).close()
    # One byte comes, and then none for a long time.
    slow, silent = connect(port), connect(port)
    slow.sendall(b"l")
    bytes_of_strangers = [b"GET / HTTP/1.0\r\n\r\n", bytes(200)]
    # A rank of an earlier protocol said this: rank, ranks, port, address.
    bytes_of_strangers += [b"llmmem1\0" + struct.pack("<iiiI", *numbers)
                           for numbers in [(1, 2, 4444, 0), (0, 2, 4444, 0), (2**31 - 1, 2, 1, 0), (1, 2**31 - 1, 1, 0)]]
    for said in bytes_of_strangers:
        with connect(port) as stranger:
            stranger.sendall(said)
            if not is_turned_away(stranger):
                sys.exit(f"{said[:8]!r} was answered")
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=20)
        sys.exit("rank 0 listens at an address that is not the job's")
    expect_end(start(0, port), "Address already in use")
    expect_end(start(1, port, LLMMEM_JOB_TOKEN="the token of another job"), "who listens there has another token")
    expect_end(start(1, port, WORLD_SIZE="3"), "this rank was told of 3 ranks and rank 0 of another number")
    second = start(1, port)
    output = first.communicate(timeout=60)[0] + second.communicate(timeout=60)[0]
    sys.stdout.write(output)
    slow.close()
    silent.close()
    sys.exit(first.returncode or second.returncode)


main()
