#!/usr/bin/env python3
"""What other processes take of this machine's cores while something is timed.

  neighbours.py COMMAND [ARGUMENT...]

runs a command, and then prints the line that a table of seconds in docs/Benchmarks.md must have: the processor, its cores,
the date, and how many cores other processes took meanwhile. The exit code is the command's.
"""
import os
import platform
import re
import subprocess
import sys
import time

# Cores. Daemons and timers of an idle machine take a hundredth; a busy process takes one.
MOST = 0.1


def busy_seconds(text, ticks_per_second):
    """Returns the seconds that all cores together were busy, of the first line of /proc/stat; what a host's other guests took
    (`steal`) counts, being idle or waiting for a disk does not."""
    name, *ticks = text.splitlines()[0].split()
    if name != "cpu" or len(ticks) < 8:
        raise ValueError(f"/proc/stat begins with '{name}', expected 'cpu' and eight numbers")
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, ticks[:8])
    return (user + nice + system + irq + softirq + steal) / ticks_per_second


def now():
    """Returns the seconds of the clock, of all cores, and of this process with its children that have ended."""
    with open("/proc/stat") as file:
        busy = busy_seconds(file.read(), os.sysconf("SC_CLK_TCK"))
    return time.monotonic(), busy, sum(os.times()[:4])


def cores_between(before, after):
    """Returns how many cores others were busy on, on average."""
    clock, busy, own = (end - begin for begin, end in zip(before, after))
    return max(0.0, (busy - own) / clock) if clock > 0 else 0.0


class Watch:
    """with Watch() as watch: ...    then watch.cores. Children that are timed must have ended inside."""

    def __enter__(self):
        self.before = now()
        return self

    def __exit__(self, *_):
        self.cores = cores_between(self.before, now())


def disturbs(cores, threads, all_cores=None):
    """Returns whether so much takes something from a step of so many threads."""
    free = max(0, (all_cores or os.cpu_count() or 1) - threads)
    return cores > free + MOST


def describe(cores):
    return f"other processes took {cores:.2f} cores meanwhile"


def processor():
    """Returns the processor's name, and its family and model, as names of virtual machines tell little."""
    facts = {}
    with open("/proc/cpuinfo") as file:
        for key, colon, value in (line.partition(":") for line in file):
            facts.setdefault(key.strip(), value.strip() if colon else "")
    name = re.sub(r"\((R|TM)\)", "", facts.get("model name", platform.machine()))
    numbers = [f"{key.removeprefix('cpu ')} {facts[key]}" for key in ("cpu family", "model") if key in facts]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def measured_on(cores):
    """Returns the line below which measured seconds may stand in docs/Benchmarks.md."""
    return (f"Measured on {processor()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}; other processes took "
            f"{cores:.2f} cores.")


def main():
    if len(sys.argv) < 2:
        sys.exit("neighbours.py: expected a command; see the first lines of this file")
    with Watch() as watch:
        try:
            code = subprocess.run(sys.argv[1:]).returncode
        except OSError as error:
            sys.exit(f"neighbours.py: {error}")
    print(measured_on(watch.cores))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
