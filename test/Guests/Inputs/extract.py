"""The code of a page, as files: extract.py PAGE FOLDER. The first line of a file's first block is a comment that ends in or
begins with the file's name; blocks of one language belong to one file."""

import os
import re
import sys

page, folder = sys.argv[1:]
with open(page, encoding="utf-8") as text:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text.read(), re.MULTILINE | re.DOTALL)
names = {}
for language, code in blocks:
    names.setdefault(language, re.match(r"\W*([\w.-]+)", code).group(1))
    with open(os.path.join(folder, names[language]), "a", encoding="utf-8") as file:
        file.write(code)
