#!/usr/bin/env python3
"""Runs the unit tests (CTest), the lit suite, the lint and clang-tidy; ends with `N passed, N failed, N skipped`.

  run-tests.py BUILD [--long]      --long: tests that need hours too (REQUIRES: long), and clang-tidy on every source
                                   instead of the 16 that changed last
"""

import argparse
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree


def run_ctest(build):
    """Returns the counts of every gtest case, which CTest knows one by one."""
    report = os.path.join(build, "ctest.xml")
    # test/lit.cfg.py does the same: cases of one program compile many equal kernels.
    environment = {"LLMMEM_CODE_CACHE": os.path.join(build, "test", "code"), **os.environ}
    subprocess.run(["ctest", "--test-dir", build, "--exclude-regex", "^lit$", "--output-junit", report,
                    "--output-on-failure", "--progress", "--parallel", str(os.cpu_count() or 1)], check=False, env=environment)
    suite = ElementTree.parse(report).getroot()
    tests, failed = int(suite.get("tests")), int(suite.get("failures"))
    skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    return tests - failed - skipped, failed, skipped


def run_lit(build):
    report = os.path.join(build, "lit.json")
    lit = next(path for path in (line.split("=", 1)[1].strip() for line in open(os.path.join(build, "CMakeCache.txt"))
                                 if line.startswith("LLMMEM_LIT:")))
    subprocess.run([sys.executable, lit, "-v", "--output", report, os.path.join(build, "test")], check=False)
    with open(report) as handle:
        codes = [test["code"] for test in json.load(handle)["tests"]]
    passed = sum(code in ("PASS", "XFAIL", "FLAKYPASS") for code in codes)
    skipped = sum(code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED") for code in codes)
    return passed, len(codes) - passed - skipped, skipped


def run_script(root, name, *arguments):
    """Counts a script as one test: its exit code says whether all is well."""
    result = subprocess.run([sys.executable, os.path.join(root, "utils", name), *arguments], check=False)
    return (1, 0, 0) if result.returncode == 0 else (0, 1, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if options.long:
        os.environ["LLMMEM_LONG"] = "1"
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Third-party data for tests; what needs it is skipped, and counted as such, where it is missing.
    data = os.path.join(os.path.dirname(root), "shared", "data")
    if os.path.isdir(data):
        os.environ.setdefault("LLMMEM_DATA", data)
    counts = [run_script(root, "lint.py"), run_script(root, "tidy.py", build, *(["--all"] if options.long else ["--most=16"])),
              run_ctest(build), run_lit(build)]
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    if passed == 0:
        failed += 1  # a suite that runs nothing has not passed
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
