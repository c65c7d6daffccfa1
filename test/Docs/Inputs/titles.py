"""Names each source of lib/, include/ and tools/ whose first line does not say what the file is for.

  titles.py ROOT
"""

import pathlib
import re
import sys

TITLE = re.compile(r"(?://|/\*)===-+ (\S+) - \S")
SOURCES = (".cpp", ".c", ".h", ".td", ".def")


def main():
    root = pathlib.Path(sys.argv[1])
    sources = [file for folder in ("lib", "include", "tools") for file in sorted((root / folder).rglob("*")) if file.suffix in SOURCES]
    untitled = []
    for source in sources:
        with open(source, errors="replace") as file:
            title = TITLE.match(file.readline())
        if not title or title.group(1) != source.name:
            untitled.append(source)
    for source in untitled:
        print(f"{source.relative_to(root)}: the first line does not name the file and say what it is for")
    print(f"{len(sources)} sources, {len(untitled)} without a title")
    return 1 if untitled else 0


if __name__ == "__main__":
    sys.exit(main())
