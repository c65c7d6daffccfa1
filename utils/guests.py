#!/usr/bin/env python3
"""Runs llmmem inside other frameworks; ends with `N passed, N failed, N skipped`.

  guests.py [NAME...]     NAME: a folder of test/Guests with a requirements.txt, by default all of them

Each guest gets an environment of its own under build-guests/, made from its pinned requirements; where they cannot be
installed its tests count as skipped, and say so. The planner's library is built by the preset `planner`, unless
LLMMEM_LIBRARY names one. LLMMEM_LONG=1 runs the tests that need long too.
"""

import hashlib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUESTS = os.path.join(ROOT, "test", "Guests")
BUILD = os.path.join(ROOT, "build-guests")


def find_guests():
    return sorted(name for name in os.listdir(GUESTS) if os.path.exists(os.path.join(GUESTS, name, "requirements.txt")))


def make_environment(name):
    """The python of the guest's environment, or None with the reason printed."""
    requirements = os.path.join(GUESTS, name, "requirements.txt")
    with open(requirements, "rb") as file:
        wanted = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()
    folder = os.path.join(BUILD, name)
    python, stamp = os.path.join(folder, "bin", "python"), os.path.join(folder, "requirements.sha256")
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    install = subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], capture_output=True, text=True)
    if install.returncode:
        print(f"guests: {name}: {requirements} cannot be installed: {install.stderr.strip()[-300:]}")
        return None
    with open(stamp, "w") as file:
        file.write(wanted)
    return python


def find_library():
    if "LLMMEM_LIBRARY" in os.environ:
        return os.environ["LLMMEM_LIBRARY"]
    for command in (["cmake", "--preset", "planner"], ["cmake", "--build", "build-planner", "--target", "LLMMEMPackageC"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(ROOT, "build-planner", "lib", "libllmmem-c.so")


def run_test(python, path, library):
    """Counts of one file of unittest cases; a file that ends without a count has failed."""
    environment = dict(os.environ, LLMMEM_LIBRARY=library, PYTHONPATH=os.path.join(ROOT, "python"))
    result = subprocess.run([python, path], env=environment, stderr=subprocess.PIPE, text=True, errors="replace")
    ran = re.search(r"^Ran (\d+) tests?", result.stderr, re.M)
    counts = {kind: int(number) for kind, number in re.findall(r"(failures|errors|skipped)=(\d+)", result.stderr[-400:])}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    skipped = counts.get("skipped", 0)
    if not ran or bool(result.returncode) != bool(failed):
        failed = max(failed, 1)
    if failed:
        print(result.stderr[-6000:])
    return max(int(ran.group(1)) - failed - skipped, 0) if ran else 0, failed, skipped


def main():
    guests = sys.argv[1:] or find_guests()
    unknown = sorted(set(guests) - set(find_guests()))
    if unknown:
        print(f"guests: unknown guest '{unknown[0]}', expected {' or '.join(find_guests())}", file=sys.stderr)
        return 1
    library = find_library()
    passed = failed = skipped = 0
    for name in guests:
        python = make_environment(name)
        for file in sorted(os.listdir(os.path.join(GUESTS, name))):
            if not file.endswith("_test.py"):
                continue
            counts = run_test(python, os.path.join(GUESTS, name, file), library) if python else (0, 0, 1)
            print(f"guests: {name}/{file}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", flush=True)
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
