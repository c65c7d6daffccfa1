"""Writes small checkpoints, each wrong in one way, next to the given path: make-checkpoints.py path"""
import json
import struct
import sys

SIZE = 61 * 61 * 4


def write(kind, header, data=SIZE, cut=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    file = struct.pack("<Q", len(text)) + text + bytes(data)
    with open(sys.argv[1] + "." + kind, "wb") as out:
        out.write(file[:cut])


def entry(name="wte.weight", dtype="F32", shape=(61, 61), begin=0, end=SIZE):
    return {name: {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}}


write("truncated", entry(), cut=40)
write("overlap", {**entry("a"), **entry()})
write("overflow", entry(shape=(2**62, 2**62)))
write("nested", b'{"a":' + b"[" * 1000000)
write("shape", entry(shape=(3721,)))
write("missing", entry("wpe.weight"))
write("dtype", entry(dtype="I32"))
write("extra", {**entry("transformer.wte.weight"), **entry("other", begin=SIZE, end=SIZE + 4, shape=(1,))}, SIZE + 4)
