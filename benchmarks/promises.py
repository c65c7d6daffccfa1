"""What a benchmark promises: checked as it goes, said at its end."""
import json
import sys

broken = []


def check(holds, promise):
    if not holds:
        broken.append(promise)


def finish(path, models):
    """Writes every figure to `path`, if there is one, and returns the exit code, which is 1 where a promise is broken."""
    if path:
        with open(path, "w") as file:
            json.dump({"broken": broken, "models": models}, file, indent=1)
    for promise in broken:
        print(f"broken: {promise}", file=sys.stderr)
    return 1 if broken else 0
