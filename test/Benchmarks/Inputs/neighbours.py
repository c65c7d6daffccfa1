"""neighbours.py SOURCE_ROOT: checks what the benchmarks of the CPU make of other processes."""
import contextlib
import io
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(sys.argv[1], "benchmarks"))
import cpu_step
import neighbour
import neighbours


def arithmetic():
    stat = lambda user, idle, iowait, steal: f"cpu  {user} 0 0 {idle} {iowait} 0 0 {steal} 0 0\ncpu0 1 2 3\n"
    before, after = ((clock, neighbours.busy_seconds(stat(*ticks), 100), own)
                     for clock, ticks, own in ((5.0, (100, 7, 9, 50), 1.0), (15.0, (1900, 500, 800, 250), 15.0)))
    print(f"others took {neighbours.cores_between(before, after):.2f} cores")
    print(f"none: {neighbours.cores_between(before, (15.0, before[1] + 3, before[2] + 4)):.2f} cores")
    for cores, all_cores in ((0.05, 2), (0.6, 2), (1.5, 4), (2.5, 4)):
        print(f"{cores:.2f} with 2 of {all_cores}: {neighbours.disturbs(cores, 2, all_cores)}")


def stranger():
    """A child counts when it has ended: until then it is somebody else's."""
    spin = [sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"]
    child = subprocess.Popen(spin)
    with neighbours.Watch() as before:
        while sum(map(int, open(f"/proc/{child.pid}/stat").read().rsplit(")", 1)[1].split()[11:13])) < 50:
            time.sleep(0.01)
        seen = neighbours.now()
    child.wait()
    taken = (seen[1] - before.before[1]) - (seen[2] - before.before[2])
    print("a stranger is seen:", taken > 0.4)


def reports():
    for name, beside, cores in (("alone", 0.7, 0.0), ("slow", 0.9, 0.0), ("disturbed", 0.7, 1.0 + os.cpu_count())):
        print(f"[{name}] ", end="")
        result = {"alone": [0.6, 0.4, 0.5], "beside": [beside] * 3, "neighbours": 1, "other_cores": cores}
        print("exit code", neighbour.report(result, os.cpu_count()))


class Timed:
    def __init__(self):
        self.rounds, self.count = [], 0

    def time(self):
        self.count += 1
        self.rounds.append(self.count)


class Bench:
    rounds, threads = 3, 2


@contextlib.contextmanager
def watching(disturbed):
    """Lets every watch see nobody, except in the second round and those after it, `disturbed` in all."""
    counted, watch = [0], neighbours.Watch

    class Watch:
        def __enter__(self):
            counted[0] += 1
            self.cores = 1.0 if 2 <= counted[0] < 2 + disturbed or disturbed == 6 else 0.0
            return self

        def __exit__(self, *_):
            pass

    neighbours.Watch, neighbours.os.cpu_count = Watch, lambda: 2
    yield
    neighbours.Watch = watch


def rounds():
    for disturbed in (1, 6):
        timed = Timed()
        with watching(disturbed), contextlib.redirect_stderr(io.StringIO()):
            is_quiet, cores = cpu_step.run_rounds(Bench, [timed])
        print(f"3 rounds, disturbed {disturbed}: kept {timed.rounds}, "
              + ("all quiet" if is_quiet else f"others took {cores:.2f}"))


arithmetic()
stranger()
reports()
rounds()
print(subprocess.run([sys.executable, neighbours.__file__, "sh", "-c", "exit 3"], capture_output=True, text=True))
