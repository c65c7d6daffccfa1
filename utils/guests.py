#!/usr/bin/env python3
"""Runs llmmem inside other frameworks; ends with `N passed, N failed, N skipped`.

  guests.py [NAME...]     NAME: a folder of test/Guests with a requirements.txt, by default all of them; or one with versions and
                          `-versions`, which runs only where it is named, or with LLMMEM_LONG=1

Each guest gets an environment of its own under build-guests/, made from its pinned requirements; where they cannot be
installed its tests count as skipped, and say so. A folder `versions` has requirements of other versions of the guest, NUMBER.txt, each of
which gets an environment too (PyTorch's with NVIDIA's libraries take 4 to 7 GB), and `tests`, the names of those that every version
runs. The planner's library is built by the preset `planner`, unless LLMMEM_LIBRARY names one. Each guest also imports its part of the
package as `pip install .` installs it. LLMMEM_LONG=1 runs the tests that need long too.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUESTS = os.path.join(ROOT, "test", "Guests")
BUILD = os.path.join(ROOT, "build-guests")


def find_guests():
    return sorted(name for name in os.listdir(GUESTS) if os.path.exists(os.path.join(GUESTS, name, "requirements.txt")))


def find_versions(name):
    """Returns the numbers of the other versions of a guest that is tested with several, oldest first."""
    folder = os.path.join(GUESTS, name, "versions")
    numbers = [file[:-4] for file in os.listdir(folder) if file.endswith(".txt")] if os.path.isdir(folder) else []
    return sorted(numbers, key=lambda number: [int(part) for part in number.split(".")])


def find_runs(names):
    """Returns (environment, guest, requirements, files of tests) of each environment that the names stand for."""
    runs = []
    for name in names:
        guest = name.removesuffix("-versions")
        folder = os.path.join(GUESTS, guest)
        if guest == name:
            tests = sorted(file for file in os.listdir(folder) if file.endswith("_test.py"))
            runs.append((name, guest, os.path.join(folder, "requirements.txt"), tests))
        for number in find_versions(guest) if guest != name else ():
            with open(os.path.join(folder, "versions", "tests")) as file:
                runs.append((f"{guest}-{number}", guest, os.path.join(folder, "versions", f"{number}.txt"), file.read().split()))
    return runs


def make_environment(name, requirements=None):
    """Returns the python of the environment of a guest or of what else has requirements, or None with the reason printed."""
    requirements = requirements or os.path.join(GUESTS, name, "requirements.txt")
    with open(requirements, "rb") as file:
        wanted = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()
    folder = os.path.join(BUILD, name)
    python, stamp = os.path.join(folder, "bin", "python"), os.path.join(folder, "requirements.sha256")
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return python
    subprocess.run([sys.executable, "-I", "-m", "venv", "--clear", folder], check=True)
    install = subprocess.run([python, "-I", "-m", "pip", "install", "-q", "-r", requirements], capture_output=True,
                             text=True)
    if install.returncode:
        print(f"guests: {name}: {requirements} cannot be installed: {install.stderr.strip()[-300:]}")
        return None
    with open(stamp, "w") as file:
        file.write(wanted)
    return python


def find_library():
    if "LLMMEM_LIBRARY" in os.environ:
        return os.environ["LLMMEM_LIBRARY"]
    for command in (["cmake", "--preset", "planner"], ["cmake", "--build", "build-planner", "--target", "LLMMEMPackageC",
                     "llmmem-plan"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(ROOT, "build-planner", "lib", "libllmmem-c.so")


def install_wheel():
    """Returns the folder of `pip install .`, or None with the reason printed."""
    folder = os.path.join(BUILD, "wheel")
    shutil.rmtree(folder, ignore_errors=True)
    install = subprocess.run([sys.executable, "-I", "-m", "pip", "install", "-q", "--no-deps", "--target", folder, ROOT],
                             capture_output=True, text=True)
    if install.returncode:
        print(f"guests: `pip install .` failed: {install.stderr.strip()[-600:]}")
    return None if install.returncode else folder


def module_of(name):
    """Returns what a guest imports: a part of the package that has its name, or the package."""
    return f"llmmem.{name}" if os.path.isdir(os.path.join(ROOT, "python", "llmmem", name)) else "llmmem"


def check_wheel(python, module, folder):
    """Imports a module as pip installed it in `folder`, without the checkout, and loads the entry points that lead to it."""
    if not folder:
        return 0, 1, 0
    environment = dict(os.environ)
    environment.pop("LLMMEM_LIBRARY", None)
    code = (f"import sys; sys.path.insert(0, {folder!r}); import {module}; print({module}.__file__)\n"
            "from importlib.metadata import distribution\n"
            f"[entry.load() for entry in distribution('llmmem').entry_points if entry.value.startswith('{module}:')]")
    result = subprocess.run([python, "-I", "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    if result.returncode or not result.stdout.startswith(folder):
        print(f"guests: {module} of the wheel: {result.stdout}{result.stderr[-600:]}")
        return 0, 1, 0
    return 1, 0, 0


def run_test(python, path, library):
    """Returns the counts of one file of unittest cases; a file that ends without a count has failed."""
    environment = dict(os.environ, LLMMEM_LIBRARY=library, PYTHONPATH=os.path.join(ROOT, "python"))
    result = subprocess.run([python, path], env=environment, stderr=subprocess.PIPE, text=True, errors="replace")
    ran = re.search(r"^Ran (\d+) tests?", result.stderr, re.M)
    counts = {kind: int(number) for kind, number in re.findall(r"(failures|errors|skipped)=(\d+)", result.stderr[-400:])}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    skipped = counts.get("skipped", 0)
    if not ran or bool(result.returncode) != bool(failed):
        failed = max(failed, 1)
    if failed:
        print("\n".join(re.findall(r"^(?:ERROR|FAIL): .*", result.stderr, re.M)), result.stderr[-6000:], sep="\n")
    return max(int(ran.group(1)) - failed - skipped, 0) if ran else 0, failed, skipped


def main():
    known = [*find_guests(), *(f"{name}-versions" for name in find_guests() if find_versions(name))]
    guests = sys.argv[1:] or (known if os.environ.get("LLMMEM_LONG") else find_guests())
    unknown = sorted(set(guests) - set(known))
    if unknown:
        print(f"guests: unknown guest '{unknown[0]}', expected {' or '.join(known)}", file=sys.stderr)
        return 1
    library, wheel = find_library(), install_wheel()
    total = [0, 0, 0]

    def count(what, counts):
        print(f"guests: {what}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", flush=True)
        total[:] = map(sum, zip(total, counts))

    for name, guest, requirements, tests in find_runs(guests):
        python = make_environment(name, requirements)
        skipped = None if python else (0, 0, 1)
        module = module_of(guest)
        count(f"{module} of the wheel for {name}", skipped or check_wheel(python, module, wheel))
        for file in tests:
            count(f"{name}/{file}", skipped or run_test(python, os.path.join(GUESTS, guest, file), library))
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
