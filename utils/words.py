#!/usr/bin/env python3
"""Holds prose to the words of the field.

  words.py [ROOT]             prints each banned word, with what to say instead, and fails where there is one
  words.py --show [PATH...]   prints those under these paths

Prose is a page without its code, a comment, a docstring, and a string that has a space in it. `code` in backquotes, the
names of arguments in comments and the directives of tests are not prose.
"""

import io
import os
import re
import subprocess
import sys
import tokenize

# (what is banned, what the field says)
WORDS = [(re.compile(r"(?<![\w-])(?:" + pattern + r")(?![\w])", re.IGNORECASE), say) for pattern, say in (
    (r"behind", "after, or what it hides"),
    (r"beside", "next to, with, compared with, in addition to"),
    (r"(?:hang|hangs|hanging|hung) (?:up)?on", "depends on"),
    (r"cop(?:y|ies|ied|ying)[ -](?:back )?(?:up|down)(?!wards)", "copy to the device, copy to the host"),
    (r"lean|leaner|leanest", "least-memory, of fewer bytes"),
    (r"(?<!first )(?<!second )(?<!Adam )(?<!Adam's )moment", "program point"),
    (r"rungs?", "step of a ladder, level"),
    (r"absent (?:value|instance)s?", "evicted value"),
    (r"takers?", "reader, or the op that takes it over"),
    (r"light (?:node|op|value)s?", "alias"),
    (r"(?<!ruin and )recreat\w*\b(?!\.(?:h|cpp))", "recompute"),
    (r"usual|usually", "default, mostly"),
    (r"by chance", "stochastically, at random"),
    (r"(?:least|smallest|largest|peak) need|(?:the|its|their|whose|own|what) need(?! (?:for|to)\b)", "footprint"),
)]

# Reports as runs have printed them, and texts that are data.
RECORDS = re.compile(r"docs/Measured/nvidia-.*|test/.*/Inputs/(families|generation|trainings)/.*")

DIRECTIVE = re.compile(r"\s*(?://|#|;)+\s*(?:[A-Z][A-Z0-9_-]*(?:-(?:NEXT|SAME|DAG|NOT|LABEL|EMPTY|COUNT-\d+))?:|expected-|--- )")
BACKQUOTED = re.compile(r"`[^`\n]*`")
# A string, a character, a comment of a line or of several: whichever comes first.
C_TOKENS = re.compile(r'R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<string>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'|//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/',
                      re.DOTALL)


def code_removed(page):
    """Returns a page without its code: fenced blocks become empty lines, so that lines keep their numbers."""
    return re.sub(r"^( *)```.*?^\1```", lambda block: "\n" * block.group().count("\n"), page, flags=re.DOTALL | re.MULTILINE)


def of_python(text):
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
                yield token.start[0], re.sub(r"\{[^{}\n]*\}", "{}", token.string)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        yield from of_lines(text)


def of_c(text):
    for token in C_TOKENS.finditer(text):
        kind = token.lastgroup
        if kind == "block" and re.fullmatch(r"\w+=", token.group(kind)):
            continue
        if kind in ("line", "block") or (kind and " " in token.group(kind)):
            yield text.count("\n", 0, token.start(kind)) + 1, token.group(kind)


def of_javascript(text):
    yield from of_c(text)
    for template in re.finditer(r"`(?P<text>[^`\n]* [^`\n]*)`", text):
        yield text.count("\n", 0, template.start()) + 1, re.sub(r"\$\{[^{}]*\}", "", template.group("text"))


def of_lines(text, mark=r"#|//"):
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(rf"(?:^|\s)(?:{mark}).*", line)
        if comment:
            yield number, comment.group()


def of_tablegen(text):
    described = re.compile(r"\[\{(?P<text>.*?)\}\]", re.DOTALL)
    for block in described.finditer(text):
        yield text.count("\n", 0, block.start("text")) + 1, code_removed(block.group("text"))
    yield from of_c(described.sub(lambda block: "\n" * block.group().count("\n"), text))


def prose_of(name, text):
    """Yields (line, text) of each piece of prose of a file."""
    kind = os.path.splitext(name)[1]
    if kind == ".md":
        pieces = [(1, code_removed(text))]
    elif kind == ".py" or text.startswith("#!/usr/bin/env python3"):
        pieces = of_python(text)
    elif kind == ".js":
        pieces = of_javascript(text)
    elif kind in (".cpp", ".h", ".c", ".cu", ".css", ".def", ".inc"):
        pieces = of_c(text)
    elif kind == ".td":
        pieces = of_tablegen(text)
    elif kind in (".mlir", ".test", ".cmake", ".sh", ".toml", ".in", ".cfg") or text.startswith("#!") or name.endswith("CMakeLists.txt"):
        pieces = of_lines(text)
    elif kind == ".html":
        pieces = [(1, text)]
    else:
        return
    for start, piece in pieces:
        for number, line in enumerate(piece.split("\n"), start):
            if not DIRECTIVE.match(line):
                yield number, BACKQUOTED.sub(lambda code: "`" + "_" * (len(code.group()) - 2) + "`", line)


def banned_words(name, text):
    """Yields (line, the word, what to say) of each banned word in the prose of a file."""
    if not RECORDS.match(name) and name not in ("utils/words.py", "test/Utils/words.test"):
        for number, line in prose_of(name, text):
            for pattern, say in WORDS:
                for match in pattern.finditer(line):
                    yield number, match.group(), say


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as handle:
        return handle.read()


def tracked(root, paths=()):
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(name for name in names if name and os.path.isfile(os.path.join(root, name)))


def lint_words(root, paths=()):
    for name in tracked(root, paths):
        lines = read(root, name).split("\n")
        for number, word, say in banned_words(name, "\n".join(lines)):
            yield f"{name}:{number}: {word} -> {say}: {lines[number - 1].strip()}"


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.argv[1:2] == ["--show"]:
        findings = list(lint_words(here, sys.argv[2:]))
    else:
        findings = list(lint_words(sys.argv[1] if len(sys.argv) > 1 else here))
    for finding in findings:
        print(finding)
    print(f"words: {len(findings)} banned words")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
