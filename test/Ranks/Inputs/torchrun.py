"""Starts ranks with the variables that torchrun or srun sets, without either.

    torchrun.py RANKS [--srun] [--missing RANK] [--kill RANK] [--port PORT] [--own-token] -- COMMAND...

Rank r's output comes after that of rank r - 1. Exits with the first code that is not 0, or with 99 where a rank is still
there 60 s after the first that ended. With --kill that rank is killed when rank 0 has said "step 2", and the others must end
within 10 s. With --own-token they get no LLMMEM_JOB_TOKEN.
"""
import argparse
import os
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def variables(options, rank, port):
    names = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    if not options.own_token:
        names["LLMMEM_JOB_TOKEN"] = "a token for this test"
    if options.srun:
        return names | {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(options.ranks), "SLURM_STEP_NUM_TASKS": str(options.ranks),
                        "SLURM_LOCALID": str(rank), "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7"}
    return names | {"RANK": str(rank), "WORLD_SIZE": str(options.ranks), "LOCAL_RANK": str(rank),
                    "LOCAL_WORLD_SIZE": str(options.ranks), "TORCHELASTIC_RUN_ID": "none"}


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks", type=int)
    parser.add_argument("--srun", action="store_true")
    parser.add_argument("--missing", type=int, default=-1)
    parser.add_argument("--kill", type=int, default=-1)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--own-token", action="store_true")
    options = parser.parse_args(sys.argv[1:at])
    port = options.port or free_port()
    ranks = [subprocess.Popen(sys.argv[at + 1:], env=os.environ | variables(options, rank, port),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for rank in range(options.ranks) if rank != options.missing]
    limit = 60
    if options.kill >= 0:
        while not (line := ranks[0].stdout.readline()).startswith("step 2"):
            if not line:
                sys.exit("rank 0 ended before its second step")
        ranks[options.kill].kill()
        limit = 10
    codes = []
    for process in ranks:
        try:
            output, errors = process.communicate(timeout=limit)
            sys.stdout.write(output)
            sys.stderr.write(errors)
            codes.append(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            codes.append(99)
    sys.exit(next((code for code in codes if code), 0))


main()
