"""check-variables.py ROOT PAGE: fails where a source reads an environment variable, or a tool's help lists an exit code, that the page
has not, or has for other tools."""

import pathlib
import re
import subprocess
import sys

READ = re.compile(r'(?:getenv|GetEnv|text_of|is_set|environ\.get|environ)[(\[]"((?:LLMMEM|OMP|CUDA|XDG)_[A-Z0-9_]+)"')
TOOLS = ["bundle", "commbench", "emulate", "fit", "import", "opt", "plan", "replay", "run", "study"]


def variables(root):
    """Returns the variables that sources read, each with the first source."""
    found = {}
    for folder in ("lib", "tools", "python", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".cpp", ".h", ".py"):
                for name in READ.findall(path.read_text(encoding="utf-8")):
                    found.setdefault(name, path.relative_to(root))
    return found


def codes():
    """Returns the exit codes that the tools' help lists, each with the tools."""
    found = {}
    for tool in TOOLS:
        text = subprocess.run(["llmmem-" + tool, "--help"], capture_output=True, text=True, check=True).stdout
        for code in re.findall(r"^ {2}(\d+) +\S", text.split("EXIT CODES")[1], re.M):
            found.setdefault(code, set()).add("llmmem-" + tool)
    return found


def main():
    root, page = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    read = variables(root)
    wrong = [f"{name} is read by {path} and is not on the page" for name, path in read.items() if f"| `{name}` |" not in page]
    rows = re.findall(r"^\| ([\d, ]+) \|.*\| (.*) \|$", page, re.M)
    known = {code: which for row, which in rows for code in row.split(", ")}
    for code, tools in sorted(codes().items()):
        if code not in known:
            wrong.append(f"a tool returns {code}, which is not on the page")
        elif known[code] != "all":
            wrong += [f"the page's row of {code} is not of {tool}" for tool in sorted(tools ^ set(re.findall("`(.*?)`", known[code])))]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(read)} variables, {len(known)} codes")


if __name__ == "__main__":
    main()
