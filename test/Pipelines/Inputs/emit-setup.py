"""Emits the setup of each framework, and plans the policies it could have taken: emit-setup.py MODEL FOLDER

The budget is halfway between the plan that keeps all and that of block inputs alone, so that keeping all does not fit.
"""

import json
import os
import re
import subprocess
import sys

model, folder = sys.argv[1:]
MESH = ["--mesh=dp=2", "--zero=3"]
POLICIES = {
    "torchtitan": ["none", "none+reshard", "selective=op", "selective=op+reshard", "full", "full+layers=2", "full+layers=3+reshard"],
    "megatron": ["none", "full", "every=2", "selective=mlp", "selective=core_attn,layernorm,mlp", "full+first=2"],
    "deepspeed": ["none", "full", "every=2", "every=4+reshard"],
    "maxtext": ["none+reshard", "full+reshard", "selective=minimal+reshard", "selective=save_qkv_proj+reshard"],
}


def plan(*flags):
    done = subprocess.run(["llmmem-opt", model, *MESH, *flags, "--memory-report-json=-", "-o", os.devnull], check=True,
                          capture_output=True, text=True)
    report = json.loads(done.stdout)
    needed = sum(report["resident"].values()) + report["resident_padding"] + report["arena"]
    return needed, report["step"]["planned_time_ns"], done.stderr


def planned(policy):
    return plan(f"--checkpoint-policy={policy}")[:2]


budget = (planned("none+reshard")[0] + planned("full")[0]) // 2
for framework, policies in POLICIES.items():
    said = plan(f"--checkpoint-budget={budget}", f"--emit={framework}:{os.path.join(folder, framework)}")[2]
    line = re.search(rf"^{framework} +(\S+ \S+) +(\S+) ms  (\S+)$", said, re.MULTILINE)
    assert line, said
    needed, time = planned(line[3])
    assert needed <= budget and f"{time / 1e6:.3f}" == line[2], (line[0], needed, time)
    for policy in policies:
        other, longer = planned(policy)
        assert other > budget or longer >= time, (framework, policy, other, longer, line[0])
