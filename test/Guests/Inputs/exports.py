"""The symbols that a library shows to others, a sorted line each: exports.py LIBRARY"""

import subprocess
import sys

library = sys.argv[1]
flags = ["-D"] if ".so" in library else []
listed = subprocess.run(["llvm-nm", *flags, "--demangle", "--defined-only", "--extern-only", "--format=posix", library],
                        check=True, capture_output=True, text=True).stdout
# NAME KIND ADDRESS SIZE; a name has blanks, and an archive's member is a line that ends in a colon.
names = {line.rsplit(" ", 3)[0] for line in listed.splitlines() if line and not line.endswith(":")}
print("\n".join(sorted(names)))
