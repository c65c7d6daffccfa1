"""Reads safetensors files: 8 bytes of header length, a JSON header, then the bytes of the tensors."""
import json
import math
import struct

# Element type by its name in the file: the code of Python's struct, and bytes.
TYPES = {"F64": ("d", 8), "F32": ("f", 4), "BF16": ("H", 2), "F16": ("e", 2), "I64": ("q", 8), "I32": ("i", 4)}


def read(path):
    """Returns the tensors of a file by name, each a flat sequence of numbers."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        code, size = TYPES[entry["dtype"]]
        begin, end = entry["data_offsets"]
        values = struct.unpack_from("<%d%s" % ((end - begin) // size, code), data, 8 + length + begin)
        tensors[name] = [widen(bits) for bits in values] if entry["dtype"] == "BF16" else values
    return tensors


def read_bytes(path):
    """Returns the bytes of a file's tensors by name, whatever their elements."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + struct.unpack_from("<Q", data)[0]
    entries = json.loads(data[8:begin])
    return {name: data[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
            for name, entry in entries.items() if name != "__metadata__"}


def widen(bits):
    """Returns the float whose upper half is this bfloat16."""
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def is_rounding_alone(gradient):
    """Returns whether a gradient is rounding alone: a key bias of BERT or ViT shifts all scores of a row alike."""
    return gradient.endswith(("attention.self.key.bias", "attention.attention.key.bias"))


def relative_error(actual, expected, leave_out=()):
    """Returns the largest difference relative to the largest element expected; where all of them are 0, any is too large."""
    assert len(actual) == len(expected)
    largest = max(abs(x) for x in expected)
    differences = [abs(a - e) for i, (a, e) in enumerate(zip(actual, expected)) if i not in leave_out]
    # A NaN compares as nothing: max would lose it.
    worst = math.nan if any(map(math.isnan, differences)) else max(differences, default=0)
    return worst / largest if largest else math.inf if worst else 0.0
