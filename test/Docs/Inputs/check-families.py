"""Holds the table of families in docs/Design/Import.md against llmmem-import.

  check-families.py ROOT PAGE

Every family of --help has one row, and every row a family. The keys of a row (with Llama's, or instead of them) are those that
--help lists, or at least one config of the family is refused by the key's name where its value is of a wrong kind. What a row
says is not supported, as `key: value`, is refused by the key's name. The tests of a row exist and train the family.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile


def tool(*arguments):
    return subprocess.run(["llmmem-import", *arguments], capture_output=True, text=True)


def families_of_help():
    """Returns the keys of each family."""
    families, family = {}, None
    for line in tool("--help").stdout.split("\nFAMILIES", 1)[1].split("\n\n", 1)[0].split("\n")[1:]:
        kind, _, keys = line.strip().partition(" ")
        if not keys:
            family = families.setdefault(kind, set())
        else:
            family.update(re.findall(r"\w+", keys.removeprefix("have ")))
    return families


def words(cell):
    return re.findall(r"`([^`]+)`", cell)


def rows_of(text):
    """Returns each row of the table as its cells."""
    table = text[text.index("| `model_type` |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]


def keys_of_rows(text, rows):
    """Returns the keys that the page names for each family; `those of` another row's come with it."""
    shared = words(text[text.index("Llama's keys:") :].split("\n\n")[0])
    own = {words(row[0])[0]: row[2] for row in rows}

    def keys(family):
        named = {key for word in words(own[family]) for key in (keys(word) if word in own else [word])}
        return named if own[family].startswith("instead of") else named | set(shared)

    return {family: keys(family) for family in own}


class Configs:
    """The configs of a family in the tree, changed in one key."""

    def __init__(self, root, folder):
        self.changed = os.path.join(folder, "config.json")
        self.of = {}
        for file in glob.glob(root + "/examples/configs/*.json") + glob.glob(root + "/test/EndToEnd/Inputs/families/*.json"):
            with open(file) as text:
                config = json.load(text)
            self.of.setdefault(config["model_type"], []).append(config)

    def refuses(self, family, key, value):
        """Returns whether some config is refused by the name of the key where it has this value."""
        for config in self.of.get(family, []):
            with open(self.changed, "w") as file:
                json.dump(config | (SWITCHES if key in SWITCHED else {}) | {key: value}, file)
            result = tool(self.changed, "--count-parameters", "--dtype", "f32")
            if result.returncode == 1 and f"'{key}'" in result.stderr:
                return True
        return False


def check_row(row, read, named, configs):
    family = words(row[0])[0]
    refused = dict(word.split(": ", 1) for word in words(row[3]) if ": " in word)
    for key in sorted(read - named - set(refused)):
        yield f"reads '{key}', which its row does not name"
    for key in sorted(named - read):
        if key not in SHARED_BY_MOST and not configs.refuses(family, key, [{}]):
            yield f"does not read '{key}', which its row names"
    for key, value in refused.items():
        if not configs.refuses(family, key, json.loads(value)):
            yield f"does not refuse '{key}: {value}', which its row says is not supported"


# Keys that are read where another one says so.
SWITCHES = {"use_sliding_window": True, "sliding_window": 4}
SWITCHED = ("sliding_window", "max_window_layers")

# What a family may have in another form: its row names that.
SHARED_BY_MOST = ("rms_norm_eps", "hidden_act", "intermediate_size", "num_key_value_heads", "rope_theta",
                  "partial_rotary_factor", "original_max_position_embeddings")


def check_tests(row, root):
    family, names = words(row[0])[0], words(row[4])
    if not names:
        yield "has no test"
    for name in names:
        try:
            with open(os.path.join(root, "test", "EndToEnd", name)) as file:
                trained = re.search(r"(families|golden)/([\w.-]+)", file.read())
        except OSError:
            yield f"names the test '{name}', which is not there"
            continue
        model_type = trained and trained.group(2)
        if trained and trained.group(1) == "families":
            with open(os.path.join(root, "test", "EndToEnd", "Inputs", "families", model_type + ".config.json")) as file:
                model_type = json.load(file)["model_type"]
        if model_type != family:
            yield f"names the test '{name}', which trains {model_type}"


def main(root, page):
    with open(page) as file:
        text = file.read()
    rows, read, findings = rows_of(text), families_of_help(), []
    named = keys_of_rows(text, rows)
    for family in sorted(set(read) ^ set(named)):
        findings.append(f"{family}: " + ("has no row" if family in read else "has a row and is no family"))
    if len(named) != len(rows):
        findings.append("a family has two rows")
    with tempfile.TemporaryDirectory() as folder:
        configs = Configs(root, folder)
        for row in rows:
            family = words(row[0])[0]
            if family in read:
                findings += [f"{family}: {finding}" for finding in check_row(row, read[family], named[family], configs)]
                findings += [f"{family}: {finding}" for finding in check_tests(row, root)]
    print("\n".join(findings) if findings else f"{len(rows)} families hold")
    return 1 if findings else 0


sys.exit(main(*sys.argv[1:]))
