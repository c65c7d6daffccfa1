"""untouched.py OUTPUT RESERVED TOUCHED: a dry run reserved more bytes than the one and has in memory less than the other."""
import re
import sys

text = open(sys.argv[1]).read()
reserved = int(re.search(r"together (\d+)$", text, re.MULTILINE).group(1))
touched = int(re.search(r"^process memory for them (\d+) bytes$", text, re.MULTILINE).group(1))
least, most = int(float(sys.argv[2])), int(float(sys.argv[3]))
if reserved <= least:
    sys.exit(f"reserves {reserved} bytes, expected more than {least}")
if touched >= most:
    sys.exit(f"takes {touched} bytes of memory for {reserved} reserved, expected less than {most}")
