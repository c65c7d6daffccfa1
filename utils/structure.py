#!/usr/bin/env python3
"""Keeps the folders of lib/ and include/llmmem/ in order: utils/structure.py [ROOT]

  cycle             folders that include each other in a circle
  private include   a header under lib/ that another library includes, or a path with ../
  link              a library that is included and not in the LINK list of the target, or the other way round
  page              a library without its line in lib/README.md, or one whose line does not say what it calls
  print             a transform that prints or writes a file, which lib/Reports does

A folder is lib/A/B with include/llmmem/A/B, which count as one. A library is a folder with a CMakeLists.txt under lib/.
"""

import collections
import os
import re
import sys

SOURCES = (".cpp", ".h", ".c", ".td")
PRINT = re.compile(r"\b(?:errs|outs)\(\)|\bwriteTextFile\(")
INCLUDE = re.compile(r'^\s*#?include "([^"]+)"', re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as handle:
        return handle.read()


def sources(root, top):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(folder, name), root)


class Tree:
    """The files of a tree, what they include, and which folder and library each belongs to."""

    def __init__(self, root):
        self.root = root
        self.files = set()
        for top in ("lib", "include", "tools", "unittests", "benchmarks"):
            self.files.update(sources(root, top))
        self.libraries = sorted((os.path.relpath(folder, root) for folder, _, names in os.walk(os.path.join(root, "lib"))
                                 if "CMakeLists.txt" in names and re.search(r"add_(mlir_)?library\(", read(
                                     os.path.join(folder, "CMakeLists.txt")))), key=len, reverse=True)
        self.includes = {name: list(self.resolved(name)) for name in sorted(self.files)}

    def resolved(self, name):
        """Yields (as written, the file) of each include; the file is None where it is not ours or generated."""
        for written in INCLUDE.findall(read(os.path.join(self.root, name))):
            yield written, self.resolve(name, written)

    def resolve(self, name, written):
        library = self.library(name)
        places = ["include", os.path.dirname(name), "unittests", *([library] if library else []), *self.libraries]
        for place in places:
            path = os.path.normpath(os.path.join(place, written))
            if path in self.files:
                return path
        # A file that TableGen makes stands where its source stands.
        stem = re.sub(r"\.(h|cpp)\.inc$", "", written)
        if stem != written:
            for extension in (".td", ".h"):
                if os.path.join("include", stem + extension) in self.files:
                    return os.path.join("include", stem + extension)
        return None

    @staticmethod
    def folder(name):
        parts = name.split("/")[:-1]
        if parts[:2] == ["include", "llmmem"]:
            return "/".join(parts[2:])
        return "/".join(parts[1:]) if parts[0] == "lib" else None

    def library(self, name):
        """Returns the folder under lib/ whose target the file belongs to."""
        folder = self.folder(name)
        if not folder:
            return None
        return next((library for library in self.libraries
                     if ("lib/" + folder + "/").startswith(library + "/")), None)


def components(graph):
    """Returns the sets of folders of which each reaches each (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def find_cycles(tree):
    graph, witness = collections.defaultdict(set), {}
    for name, includes in tree.includes.items():
        for _, other in includes:
            a, b = tree.folder(name), other and tree.folder(other)
            if a and b and a != b:
                graph[a].add(b)
                witness.setdefault((a, b), f"{name} includes {other}")
    for component in components(graph):
        arrows = [text for (a, b), text in sorted(witness.items()) if a in component and b in component]
        yield f"cycle: {', '.join(component)}: " + "; ".join(arrows)


def find_private_includes(tree):
    for name, includes in tree.includes.items():
        for written, other in includes:
            if "../" in written:
                yield f"{name}: private include: \"{written}\" has ../; name the header from its library's root"
            elif other and other.startswith("lib/") and not name.startswith(("unittests/", "benchmarks/")):
                if tree.library(other) != tree.library(name):
                    yield f"{name}: private include: {other} belongs to another library; make it a header of include/llmmem"


def linked(cmake):
    """Returns the target's name, and our own libraries that it links."""
    target = re.search(r"add_(?:mlir_)?library\((LLMMEM\w+)", cmake)
    return target.group(1), set(re.findall(r"\bLLMMEM[A-Z]\w*", "".join(
        re.findall(r"\bLINK\b([^)]*)\)", cmake)
        + re.findall(r"target_link_libraries\(\s*LLMMEM\w+([^)]*)\)", cmake))))


def find_links(tree):
    targets = {library: linked(read(os.path.join(tree.root, library, "CMakeLists.txt"))) for library in tree.libraries}
    included = collections.defaultdict(dict)
    for name, includes in tree.includes.items():
        library = tree.library(name)
        for _, other in includes:
            used = other and tree.library(other)
            if library and used and used != library:
                included[library].setdefault(targets[used][0], name)
    for library in sorted(tree.libraries):
        target, links = targets[library]
        for used, name in sorted(included[library].items()):
            if used not in links:
                yield f"{library}/CMakeLists.txt: link: {target} includes {used} ({name}) and does not link it"
        for unused in sorted(links - set(included[library])):
            yield f"{library}/CMakeLists.txt: link: {target} links {unused} and includes nothing of it"


def find_lines(tree):
    """Compares the table of lib/README.md with what each library includes."""
    page = os.path.join(tree.root, "lib/README.md")
    if not os.path.exists(page):
        return
    rows = re.findall(r"^\| `([\w/]+)` \|[^|\n]*\|[^|\n]*\| *([^|\n]*?) *\|$", read(page), re.MULTILINE)
    said = {"lib/" + name: calls for name, calls in rows}
    for library in sorted(tree.libraries):
        used = {tree.library(other) for name, includes in tree.includes.items() if tree.library(name) == library
                for _, other in includes if other}
        calls = ", ".join(sorted(other.removeprefix("lib/") for other in used - {None, library}))
        name = library.removeprefix("lib/")
        if library not in said:
            yield f"lib/README.md: page: {name} has no line, expected: | `{name}` | core or client | what it does | {calls} |"
        elif said[library] != calls:
            yield f"lib/README.md: page: {name} may call '{said[library]}' there, and calls '{calls}'"
    for library in sorted(said.keys() - set(tree.libraries)):
        yield f"lib/README.md: page: there is no library {library.removeprefix('lib/')}"


def find_prints(tree):
    for name in sorted(tree.files):
        if name.startswith("lib/Transforms/"):
            for number, line in enumerate(read(os.path.join(tree.root, name)).split("\n"), 1):
                if PRINT.search(line):
                    yield f"{name}:{number}: print: a transform decides or obeys; what is said of it belongs to lib/Reports"


def lint_structure(root):
    tree = Tree(root)
    return [*find_cycles(tree), *find_private_includes(tree), *find_links(tree), *find_lines(tree), *find_prints(tree)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    findings = lint_structure(root)
    for finding in findings:
        print(finding)
    print(f"structure: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
