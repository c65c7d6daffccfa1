#!/usr/bin/env python3
"""Reads the files of an index by itself: read-index.py INDEX BYTES FIRST WHOLE, or --turn-a-bit INDEX (of its second file).

FIRST lists a folder before: says what is left of it that the index does not name. WHOLE is a file of the same tensors."""
import json
import os
import sys


def read(path):
    data = open(path, "rb").read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    return metadata, {name: (entry["dtype"], entry["shape"], data[8 + length:][slice(*entry["data_offsets"])]) for name, entry in header.items()}


def files_of(index):
    return sorted(set(json.load(open(index))["weight_map"].values()))


def turn_a_bit(index):
    path = os.path.join(os.path.dirname(index), files_of(index)[1])
    data = bytearray(open(path, "rb").read())
    data[-100] ^= 16
    open(path, "wb").write(data)


def check(index, most, first, whole):
    content, folder, tensors = json.load(open(index)), os.path.dirname(index), {}
    for file in files_of(index):
        metadata, own = read(os.path.join(folder, file))
        size = sum(len(data) for _, _, data in own.values())
        if metadata != {"format": "pt"} or (size > most and len(own) > 1):
            sys.exit(f"{file} has {size} bytes of {len(own)} tensors and says {metadata}")
        if any(content["weight_map"][name] != file for name in own):
            sys.exit(f"{file} has a tensor that the index has elsewhere")
        tensors.update(own)
    metadata, expected = read(whole)
    total = content["metadata"].pop("total_size")
    if tensors != expected or content["metadata"] != metadata or total != sum(len(data) for _, _, data in expected.values()):
        sys.exit("the files do not hold what the one file does")
    print({"llmmem.step": content["metadata"]["llmmem.step"]})
    print(f"{len(files_of(index))} files, none above {most:,} bytes but of one tensor; the tensors and the metadata of one file")
    left = {file for file in open(first).read().split() if file.startswith("model-") and os.path.exists(os.path.join(folder, file))}
    other = left & {"model-00001-of-00002.safetensors"}
    print(f"{len(left - other - set(files_of(index)))} files of the first save, and {len(other)} of another")


if sys.argv[1] == "--turn-a-bit":
    turn_a_bit(sys.argv[2])
else:
    check(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
