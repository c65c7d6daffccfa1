#!/usr/bin/env python3
"""Measures functions, classes and files against the limits of the house: utils/sizes.py [--all] [ROOT]

  function   at most 60 lines from its first to its last, and 7 parameters
  class      at most 25 methods that it declares, and 12 fields
  file       at most 600 lines, of .cpp, .h, .c, .td, .def and .py

What must be larger says why in the comment above it or its docstring (of a file: in its first comment), in a sentence that begins with
"Long:", "Many parameters:", "Many methods:" or "Many fields:", or says "many fields because". The findings are what gives no
reason. --all lists everything over a limit.

Files are measured everywhere, functions and classes in lib/, include/, tools/, utils/ and python/llmmem/. C and C++ are read
without a compiler: comments, strings and directives are blanked, and the tokens in front of a brace say what it opens. Methods
are those that the class itself declares, without defaulted and deleted ones. A lambda is part of the function around it; a
class inside a function is measured by itself as well.
"""

import argparse
import ast
import bisect
import collections
import os
import re
import subprocess
import sys

LIMITS = {"lines": 60, "parameters": 7, "methods": 25, "fields": 12, "file lines": 600}
REASONS = {"lines": "Long:", "parameters": "Many parameters:", "methods": "Many methods:", "fields": "Many fields:",
           "file lines": "Long:"}
SOURCES = (".cpp", ".h", ".c", ".td", ".def", ".py")
MEASURED = ("lib/", "include/", "tools/", "utils/", "python/llmmem/")

NOT_CODE = re.compile(r"""
    //[^\n]*                                        # a comment of one line
  | /\*.*?\*/                                       # ... of several
  | R"(?P<mark>[^()\s\\"]*)\(.*?\)(?P=mark)"        # a raw string
  | "(?:[^"\\\n]|\\.)*"
  | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'             # no separator of digits
  | ^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*                  # a directive
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w'.]*|::|->|<<=?|>=|<=|==|!=|&&|\|\||[-+*/%&|^]=|\S")
AFTER_PARAMETERS = {"const", "noexcept", "override", "final", "&", "&&", "mutable", "volatile", "try"}
ACCESS = ("public", "private", "protected")
NO_FUNCTION = {"if", "for", "while", "switch", "catch", "return", "do", "else", "decltype", "alignas", "__attribute__"}

Measure = collections.namedtuple("Measure", "file line kind name figure reason")
Token = collections.namedtuple("Token", "text line")


class Scope:
    def __init__(self, kind, name="", line=0, parameters=0):
        self.kind, self.name, self.line, self.parameters = kind, name, line, parameters
        self.methods = self.fields = 0
        self.head = []      # the tokens of the statement that is being read
        self.before = []    # those in front of the brace that opened it
        self.closed = None  # the class whose brace the statement has closed


def blanked(text):
    """The text without comments, contents of strings and directives; every line stays on its line."""
    def blank(match):
        whole = match.group(0)
        kept = '""' if whole.startswith(('"', "R")) else "0" if whole.startswith("'") else ""
        return kept + "\n" * whole.count("\n")
    return NOT_CODE.sub(blank, text)


def tokens_of(text):
    starts = [match.start() for match in re.finditer("\n", text)]
    return [Token(match.group(0), 1 + bisect.bisect_left(starts, match.start())) for match in TOKEN.finditer(text)]


def skip_group(texts, at, opening, closing):
    """The place after the group that begins at `at`."""
    depth = 0
    while at < len(texts):
        depth += (texts[at] in opening) - (texts[at] in closing)
        if opening == "<" and texts[at] in ("(", "{", "["):
            at = skip_group(texts, at, "([{", ")]}") - 1
        at += 1
        if depth == 0:
            return at
    return at


def without_template(head):
    while head and head[0].text == "template":
        head = head[skip_group([token.text for token in head], 1, "<", ">"):]
    return head


def top_level(texts, stop=()):
    """(place, text) of what is in no brackets, angles of templates counted as such."""
    at = 0
    while at < len(texts):
        text = texts[at]
        yield at, text
        if text in stop:
            return
        if text in ("(", "[", "{"):
            at = skip_group(texts, at, "([{", ")]}")
        elif text == "<" and at and re.match(r"[A-Za-z_]", texts[at - 1]) and texts[at - 1] != "operator":
            at = skip_group(texts, at, "<", ">")
        else:
            at += 1


def count_parts(texts):
    """How many parts the commas between the tokens make."""
    if not texts or texts == ["void"]:
        return 0
    return 1 + sum(text == "," for _, text in top_level(texts))


def qualified_start(texts, start):
    """Where the name begins whose last part stands at `start`: Outer<T>::name."""
    while start >= 2 and texts[start - 1] == "::":
        start -= 2
        if texts[start] == ">":
            while start and texts[start] != "<":
                start -= 1
            start -= 1
    return start - 1 if start and texts[start - 1] == "~" else start


def function_in(head):
    """(name, number of parameters, place after them) where the tokens begin with the head of a function."""
    texts = [token.text for token in head]
    for at, text in top_level(texts, stop=("=",)):
        if text != "(" or not at or texts[at - 2:at] == ["operator", "("]:
            continue
        last = next((place for place in range(max(0, at - 4), at) if texts[place] == "operator"), at - 1)
        if texts[last] == "operator":
            if last == at - 1:  # the call operator, whose own brackets come first
                at = skip_group(texts, at, "(", ")")
        elif not re.match(r"[A-Za-z_]", texts[last]) or texts[last] in NO_FUNCTION:
            continue
        end = skip_group(texts, at, "(", ")")
        if at >= len(texts) or texts[at] != "(" or texts[at + 1] == "*" and texts[end:end + 1] == ["("]:
            return None
        return "".join(texts[qualified_start(texts, last):at]), count_parts(texts[at + 1:end - 1]), end
    return None


def function_type_in(head):
    """The same of a pointer to a function: int (*name)(...)."""
    texts = [token.text for token in head]
    for at, text in enumerate(texts[:-4]):
        if text == "(" and texts[at + 1] == "*" and texts[at + 3:at + 5] == [")", "("]:
            return texts[at + 2], count_parts(texts[at + 5:skip_group(texts, at + 4, "(", ")") - 1])
    return None


def class_in(head):
    """The name of the class whose body follows the tokens; "" where it has none, None where no class follows."""
    texts = [token.text for token in head]
    for at, text in top_level(texts, stop=("=",)):
        if text in ("class", "struct", "union") and "enum" not in texts[:at]:
            names = [other for _, other in top_level(texts[at + 1:], stop=(":",)) if re.match(r"[A-Za-z_]|::", other)
                     and other not in ("final", "alignas")]
            return "".join(names)
        if text == "(":
            return None
    return None


def opens(head, outer):
    """The scope that a brace after the tokens opens."""
    head = without_template(head)
    texts = [token.text for token in head]
    line = head[0].line if head else 0
    if outer == "function":
        name = class_in(head) if texts and not {"=", "return", "("} & set(texts) else None
        return Scope("class", name, line) if name is not None else Scope("block")
    if "namespace" in texts or texts[:1] == ["extern"] and texts[-1:] == ['"']:
        return Scope("namespace")
    if "enum" in texts:
        return Scope("data")
    function = function_in(head)
    if function:
        name, parameters, end = function
        rest = texts[end:]
        isBody = (not rest or rest[0] in AFTER_PARAMETERS or rest[0] == "->"
                  or rest[0] == ":" and not re.match(r"[A-Za-z_>]", rest[-1]))
        if isBody and "=" not in texts[:end]:
            return Scope("function", name, line, parameters)
        return Scope("data")
    name = class_in(head)
    return Scope("class", name, line) if name is not None else Scope("data")


def count_member(scope, head):
    """Counts what a statement of a class declares."""
    head = without_template(head)
    texts = [token.text for token in head]
    if not texts or texts[0] in ("using", "typedef", "friend", "static_assert", "enum"):
        return
    if texts[0] in ("class", "struct", "union") and len(texts) == 2:
        return  # declared, and defined elsewhere
    function = function_in(head)
    if function:
        scope.methods += texts[-2:] not in (["=", "default"], ["=", "delete"])
    elif texts[0] != "static":
        scope.fields += 1 + sum(text == "," for _, text in top_level(texts))


class Reader:
    """Walks the tokens of a source and measures every function and class on the way."""

    def __init__(self, name):
        self.name = name
        self.stack = [Scope("namespace")]
        self.found = []

    def add(self, kind, line, name, figure):
        outer = [scope.name for scope in self.stack if scope.kind in ("class", "namespace") and scope.name]
        self.found.append((line, kind, "::".join([*outer, name]), figure))

    def open_scope(self, line):
        scope = self.stack[-1]
        opened = opens(scope.head, "function" if scope.kind in ("function", "block") else scope.kind)
        opened.before, opened.line = scope.head, opened.line or line
        self.stack.append(opened)

    def close_scope(self, line):
        closed = self.stack.pop()
        outer = self.stack[-1]
        brace = [Token("{", line), Token("}", line)]
        outer.head = []
        if closed.kind == "function":
            outer.methods += 1
            self.add("lines", closed.line, closed.name, line - closed.line + 1)
            self.add("parameters", closed.line, closed.name, closed.parameters)
        elif closed.kind == "class":
            outer.closed = closed  # what stands between its brace and its semicolon is declared as one of it
            if closed.name:
                self.add_class(closed, closed.name)
        elif closed.kind == "data" and (outer.kind == "class" or function_in(without_template(closed.before))):
            outer.head = closed.before + brace  # an initializer, after which the statement goes on

    def add_class(self, scope, name):
        self.add("methods", scope.line, name, scope.methods)
        self.add("fields", scope.line, name, scope.fields)

    def end_statement(self):
        scope = self.stack[-1]
        head, closed, scope.head, scope.closed = scope.head, scope.closed, [], None
        if closed:
            if not closed.name and head:
                self.add_class(closed, head[-1].text)
            scope.fields += sum(re.match(r"[A-Za-z_]", token.text) is not None for token in head)
        elif head and scope.kind in ("class", "namespace"):
            if scope.kind == "class":
                count_member(scope, head)
            function = function_in(without_template(head)) or function_type_in(head)
            if function:
                self.add("parameters", head[0].line, function[0], function[1])

    def read(self, tokens):
        depth = 0
        for token in tokens:
            if token.text in "([" or depth and token.text == "{":
                depth += 1
            elif token.text in ")]" or depth and token.text == "}":
                depth -= 1
            elif not depth and token.text == "{":
                self.open_scope(token.line)
                continue
            elif not depth and token.text == "}" and len(self.stack) > 1:
                self.close_scope(token.line)
                continue
            head = self.stack[-1].head
            if not depth and token.text == ";":
                self.end_statement()
            elif not depth and token.text == ":" and len(head) == 1 and head[0].text in ACCESS:
                head.clear()
            else:
                head.append(token)
        if len(self.stack) != 1:
            raise ValueError(f"{self.name}: sizes: {len(self.stack) - 1} scopes are still open at its end")
        return self.found


def measure_code(name, text):
    """(line, kind, name, figure) of every function and class of a source in C or C++."""
    return Reader(name).read(tokens_of(blanked(text)))


def measure_python(name, text):
    """The same of a module of Python; fields are what its classes annotate."""
    def visit(node, outer):
        for child in ast.iter_child_nodes(node):
            inner = outer
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = [*outer, child.name]
                given = child.args
                yield child.lineno, "lines", ".".join(inner), child.end_lineno - child.lineno + 1
                positional = given.posonlyargs + given.args
                own = len(positional) - (bool(positional) and positional[0].arg in ("self", "cls"))
                yield child.lineno, "parameters", ".".join(inner), own
            elif isinstance(child, ast.ClassDef):
                inner = [*outer, child.name]
                kinds = [type(member) for member in child.body]
                yield child.lineno, "methods", ".".join(inner), kinds.count(ast.FunctionDef)
                yield child.lineno, "fields", ".".join(inner), kinds.count(ast.AnnAssign)
            yield from visit(child, inner)
    return list(visit(ast.parse(text, name), []))


def no_entities(name, text):
    return []


MEASURES = {".cpp": measure_code, ".h": measure_code, ".c": measure_code, ".py": measure_python}


def reason_of(lines, line, kind):
    """The sentence with the reason in the comment above a line, or None."""
    at = line - 1
    while at and re.match(r"\s*(///?|#|\*|/\*|template)", lines[at - 1]) or at and lines[at - 1].rstrip().endswith("*/"):
        at -= 1
    documented = lines[at:line - 1]
    if '"""' in "".join(lines[line:line + 1]):  # of Python
        documented += '\n'.join(lines[line:]).split('"""')[1].split("\n")
    comment = " ".join(text.strip().lstrip("/#* ") for text in documented)
    words = re.escape(REASONS[kind].rstrip(":"))
    found = re.search(rf"({words}:|(?i:{words}) because)\s+\S[^.]*\.", comment)
    return found and found.group(0)


def measures(root, names):
    for name in names:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as handle:
            text = handle.read()
        lines = text.split("\n")
        top = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith(("//", "/*", "#", " *", '"'))),
                   len(lines))
        found = [(1, "file lines", "", text.count("\n"))]
        if name.startswith(MEASURED):
            found += MEASURES.get(os.path.splitext(name)[1], no_entities)(name, text)
        for line, kind, entity, figure in found:
            if figure > LIMITS[kind]:
                yield Measure(name, line, kind, entity, figure, reason_of(lines, line if entity else top + 1, kind))


def measured(root):
    """All measures over a limit; a function that a header declares with a reason has it where it is defined, too."""
    found = list(measures(root, sources(root)))
    reasons = {it.name: it.reason for it in found if it.kind == "parameters" and it.file.endswith(".h") and it.reason}
    return [it if it.kind != "parameters" else it._replace(reason=it.reason or reasons.get(it.name)) for it in found]


def sources(root):
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(name for name in names if name.endswith(SOURCES) and os.path.isfile(os.path.join(root, name)))


def lint_sizes(root):
    """(findings, a line that counts what is over a limit)"""
    found = measured(root)
    findings = [f"{it.file}:{it.line}: too large: {it.name or 'the file'}: {it.figure} {it.kind}, at most {LIMITS[it.kind]}; make it "
                f"smaller, or give the reason in its comment: \"{REASONS[it.kind]} ...\"" for it in found if not it.reason]
    return findings, f"sizes: {len(findings)} over a limit, {len(found) - len(findings)} more with a reason in their comment"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--all", action="store_true", help="list everything over a limit, with its reason")
    options = parser.parse_args()
    if options.all:
        for it in measured(options.root):
            print(f"{it.figure:5} {it.kind:10} {it.file}:{it.line} {it.name} {it.reason or ''}".rstrip())
    findings, counts = lint_sizes(options.root)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(counts)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
