"""Refuses private names of PyTorch outside of the one file of llmmem.torch that holds them, and how their versions differ."""

import ast

HOME = "python/llmmem/torch/_private.py"
ROOM = "python/llmmem/torch/"
FOREIGN = ("torch", "functorch")


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def own_names(trees):
    """Returns the names that llmmem itself defines, which may begin with an underscore."""
    found = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) \
                    and node.value.id in ("self", "cls"):
                found.add(node.attr)
    return found


def is_operator(node):
    """Returns whether an attribute is the name of an operator of ATen, a part of the graphs that PyTorch writes, not of its Python."""
    return isinstance(node.value, ast.Name) and node.value.id == "aten"


def private_in(node, own):
    """Returns the private names of others that a node of the syntax tree takes."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names
                if alias.name.split(".")[0] in FOREIGN and any(map(is_private, alias.name.split(".")))]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] in FOREIGN:
        return [f"{node.module}.{alias.name}" for alias in node.names
                if any(map(is_private, [*node.module.split("."), alias.name]))]
    if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own and not is_operator(node):
        return [node.attr]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr", "setattr"):
        return [name.value for name in node.args[1:2] if isinstance(name, ast.Constant) and is_private(str(name.value))
                and name.value not in own]
    return []


def lint_private_names(sources):
    """sources: the text of each file of python/llmmem by its name."""
    trees = {name: ast.parse(text, name) for name, text in sources.items()}
    own = own_names(tree for name, tree in trees.items() if name != HOME) | {
        name.rsplit("/", 1)[-1][:-3] for name in trees}
    for name, tree in trees.items():
        if name.startswith(ROOM) and name != HOME:
            found = sorted((node.lineno, private) for node in ast.walk(tree) for private in private_in(node, own))
            for line, private in found:
                yield f"{name}:{line}: a private name of PyTorch, '{private}': take it from {HOME}"
