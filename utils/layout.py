"""Keeps bytes, places and lifetimes of values at home: what lint.py says of a source of lib/, include/ or tools/.

  bytes of a type     bits of an element made into bytes anywhere but in Interfaces/Bytes.cpp
  alignment           the number 256 (or 255) where something is aligned, anywhere but in llmmem/Alignment.h
  place of a value    `llm.offsets` or `llm.workspace` read anywhere but in lib/Layout
  lifetime            the last read of a value found anywhere but in lib/Layout

The verifier of plans does all of that by itself (lib/Analysis/Plan*), but for the alignment.
"""

import re

VERIFIER = re.compile(r"lib/Analysis/Plan\w+\.(cpp|h)$")
CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

# What is looked for in code without its comments and texts, where it is at home, and what to do elsewhere.
RULES = (
    ("bytes of a type", re.compile(r"BitWidth\(\)\)?\s*/\s*8\b|divideCeil\([^;]*?BitWidth\(\)|BitWidth\(\)\s*\+\s*7\b"),
     re.compile(r"lib/Interfaces/Bytes\.cpp$"), "ask llmmem/Interfaces/Bytes.h"),
    ("place of a value", re.compile(r"getAttrOfType<(?:mlir::)?DenseI64ArrayAttr>\(\s*(?:\w+::)*k(?:Offsets|Workspace)\)"),
     re.compile(r"lib/Layout/"), "ask llmmem/Layout/Places.h"),
    ("lifetime", re.compile(r"\blast(?:Read|Use)s?\[[^\]\n]*\]\s*="),
     re.compile(r"lib/Layout/"), "ask llmmem/Layout/LastReads.h"),
)
ALIGNMENT = re.compile(r"^(?=.*\b25[56]\b)(?=.*(?:align|resident|% ?256|/ ?256)).*$", re.IGNORECASE | re.MULTILINE)


def without_texts(text):
    """The code of a C++ source, with as many lines as before."""
    return CODE.sub(lambda match: "\n" * match.group(0).count("\n"), text)


def lint_layout(name, text):
    if not name.startswith(("lib/", "include/", "tools/")) or "/Planning/" in name:
        return
    code = without_texts(text)
    line = lambda match: code.count("\n", 0, match.start()) + 1
    for kind, pattern, home, advice in RULES:
        if not home.match(name) and not VERIFIER.match(name):
            for match in pattern.finditer(code):
                yield f"{name}:{line(match)}: {kind}: {advice}"
    if not name.endswith("/Alignment.h"):
        for match in ALIGNMENT.finditer(code):
            yield f"{name}:{line(match)}: alignment: take it from llmmem/Alignment.h: {match.group(0).strip()}"
