"""Prints the token ids of a golden file as llmmem-run reads them: write-ids.py golden.safetensors"""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
length = struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8 : 8 + length])["input_ids"]["data_offsets"]
print(*struct.unpack("<%dq" % ((end - begin) // 8), data[8 + length + begin : 8 + length + end]))
