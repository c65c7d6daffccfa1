"""What the GPUs of one machine do together, against what one process computes.

    benchmarks/gpu_ranks.py [--gpus N] [--build BUILD] [--nccl libnccl.so.2] [--cuda-driver libcuda.so.1] [--out FOLDER]

One rank a GPU, by the variables that torchrun sets; N is what nvidia-smi lists. Runs, in this order,
  collectives   a captured step of collectives, started ones and an exchange, replayed and compared with its definition
  steps         three steps of small models, split by data, ZeRO and tensors, compared with the same on one CPU
  links         llmmem-commbench: the table of links, FOLDER/links.json, by which plans are priced
With one GPU, which NCCL gives no peer, the ranks are one: that shows that NCCL opens, joins and can be captured.
Exit code 1 where a promise is broken, 3 where there is no GPU.
"""
import argparse
import os
import pathlib
import re
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The tolerance of whole steps in f32 on several ranks (docs/Design/Ranks.md).
RELATIVE = 1e-5


def count_gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(listed.splitlines())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_ranks(count, command, limit=600):
    """Returns the output of rank 0. Ends the program where a rank fails."""
    port = str(free_port())
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
                                                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
             for rank in range(count)]
    outputs = [rank.communicate(timeout=limit) for rank in ranks]
    failed = [rank for rank in range(count) if ranks[rank].returncode]
    if failed:
        said = "".join(outputs[rank][1] for rank in failed)
        sys.stderr.write(f"gpu_ranks: rank {failed[0]} of {' '.join(command)}:\n{said}")
        sys.exit(3 if ranks[failed[0]].returncode == 3 else 1)
    return outputs[0][0]


def losses(text):
    return [float(loss) for loss in re.findall(r"^step \d+  loss (\S+)$", text, re.M)]


class Day:
    def __init__(self, options, gpus):
        self.gpus, self.tools, self.out = gpus, pathlib.Path(options.build) / "bin", pathlib.Path(options.out)
        self.on_device = ["--nccl=" + options.nccl, "--cuda-driver=" + options.cuda_driver]
        self.check = ["--nccl=" + options.nccl, "--cuda=" + options.cuda_driver]
        self.data = str(ROOT / "README.md")
        self.out.mkdir(parents=True, exist_ok=True)

    def tool(self, name):
        return str(self.tools / name)

    def collectives(self):
        print("collectives:", run_ranks(self.gpus, [self.tool("collectives-check"), *self.check, str(self.gpus)]).strip())

    def plan(self, model, *flags):
        step = str(self.out / "step.mlir")
        subprocess.run([self.tool("llmmem-opt"), *flags, "--checkpoint-budget=min", model, "-o", step], check=True,
                       stderr=subprocess.DEVNULL)
        return step

    def steps(self):
        model = str(self.out / "model.mlir")
        config = str(ROOT / "examples/configs/tiny-gpt2.json")
        subprocess.run([self.tool("llmmem-import"), config, "--batch", str(4 * self.gpus), "--seq", "64", "-o", model],
                       check=True)
        run = [self.tool("llmmem-run"), "--steps", "3", "--data", self.data]
        on_cpu = subprocess.run([*run, self.plan(model), "--gemm=builtin"], capture_output=True, text=True, check=True)
        expected = losses(on_cpu.stdout)
        ways = [["--mesh=dp=%d" % self.gpus, "--zero=0"], ["--mesh=dp=%d" % self.gpus, "--zero=3", "--overlap"]]
        if self.gpus in (2, 4):
            ways.append(["--mesh=tp=%d" % self.gpus, "--sequence-parallel"])
        for way in ways if self.gpus > 1 else [["--mesh=dp=1"]]:
            step = self.plan(model, *way, "--collectives=nccl")
            text = run_ranks(self.gpus, [*run, step, "--device=cuda", *self.on_device])
            found = losses(text)
            device = re.search(r"^run on (.*)$", text, re.M).group(1)
            worst = max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True))
            print(f"steps {' '.join(way)}: losses {found}, at most {worst:.1e} from the CPU's, on {device}")
            if worst > RELATIVE and "fake" not in device:
                sys.exit(f"gpu_ranks: expected at most {RELATIVE}")

    def links(self):
        if self.gpus == 1:
            return
        table = str(self.out / "links.json")
        run_ranks(self.gpus, [self.tool("llmmem-commbench"), *self.on_device, "--largest=64MiB", "-o", table])
        print("links:", table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--nccl", default="libnccl.so.2")
    parser.add_argument("--cuda-driver", default="libcuda.so.1")
    parser.add_argument("--out", default="gpu-ranks")
    parser.add_argument("--only", choices=["collectives", "steps", "links"])
    options = parser.parse_args()
    gpus = options.gpus or count_gpus()
    if gpus == 0:
        sys.stderr.write("gpu_ranks: found no GPU (nvidia-smi -L); --gpus says how many there are\n")
        sys.exit(3)
    day = Day(options, gpus)
    for part in ["collectives", "steps", "links"]:
        if options.only in (None, part):
            getattr(day, part)()


main()
