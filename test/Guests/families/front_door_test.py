"""The front door: configs of families that nobody built in are counted as transformers counts them and answered by llmmem-fit, a function of
one's own is traced, and what is missing is named."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List
from unittest import mock

import transformers

import llmmem
import llmmem.torch
from llmmem.torch._command import main
from llmmem.torch._source import read_source

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BUILD = os.environ.get("LLMMEM_BUILD", os.path.join(ROOT, "build"))
FIT, IMPORT, STUDY = (os.path.join(BUILD, "bin", name) for name in ("llmmem-fit", "llmmem-import", "llmmem-study"))
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(llmmem.__file__)))
BASE: Dict[str, Any] = dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128,
                            max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
STATES: Dict[str, Any] = dict(vocab_size=128, hidden_size=32, num_hidden_layers=2, state_size=8, pad_token_id=0, bos_token_id=1, eos_token_id=2)
# No family of llmmem-import is one of these.
CONFIGS: Dict[str, Dict[str, Any]] = {
    "mamba": dict(STATES, time_step_rank=4),
    "mamba2": dict(STATES, num_heads=8, head_dim=8, n_groups=1, chunk_size=16),
    "falcon_mamba": dict(STATES, time_step_rank=4),
    "falcon_h1": dict(BASE, mamba_d_ssm=64, mamba_n_heads=8, mamba_d_head=8, mamba_d_state=8, mamba_n_groups=1, mamba_chunk_size=16),
    "bamba": dict(BASE, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1, mamba_chunk_size=16, attn_layer_indices=[1]),
    "lfm2": dict(BASE, layer_types=["conv", "full_attention"]),
    "modernbert": dict(BASE, architectures=["ModernBertForMaskedLM"], local_attention=8, cls_token_id=1, sep_token_id=2),
    "opt": dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, max_position_embeddings=64,
                word_embed_proj_dim=64, pad_token_id=1, bos_token_id=2, eos_token_id=2),
    "bloom": dict(vocab_size=128, hidden_size=64, n_layer=2, n_head=4, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "gemma3n_text": dict(BASE, head_dim=16, vocab_size_per_layer_input=128, hidden_size_per_layer_input=16, altup_num_inputs=2, laurel_rank=8,
                         num_kv_shared_layers=0, sliding_window=8, layer_types=["sliding_attention", "full_attention"],
                         activation_sparsity_pattern=[0.0, 0.0]),
}


def write(folder: str, name: str) -> str:
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w") as file:
        json.dump(dict(CONFIGS[name], model_type=name), file)
    return path


def fit(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    own = {"LLMMEM_PYTHON": sys.executable, "PYTHONPATH": PACKAGE, **environment}
    return subprocess.run([FIT, *arguments], env=dict(os.environ, **own), text=True, capture_output=True)


class FamiliesTest(unittest.TestCase):
    def test_counts_and_bytes(self) -> None:
        """Counts are those of the model that transformers makes with numbers, and each is predicted on a GPU."""
        with tempfile.TemporaryDirectory() as folder:
            for name in CONFIGS:
                with self.subTest(family=name):
                    path = write(folder, name)
                    source = read_source(path, 2, 32)
                    config = transformers.AutoConfig.for_model(name, **CONFIGS[name])
                    model = type(source.model)(config)
                    expected = sum(parameter.numel() for parameter in model.parameters())
                    found = llmmem.torch.predict(source.model, source.inputs, device="h100", strategies=["eager"]).strategies["eager"]
                    held = found.steps[1]["forward"].by_kind["parameters"]
                    print(f"{name}: {source.parameters} parameters, {found.peak} bytes")
                    self.assertEqual(expected, source.parameters)
                    self.assertEqual(model.num_parameters(), source.parameters)
                    self.assertGreaterEqual(held, 4 * expected)
                    self.assertGreater(found.peak, held)
                    if os.path.exists(IMPORT):
                        self.assertNotEqual(0, subprocess.run([IMPORT, path, "-o", os.devnull], capture_output=True).returncode)

    @unittest.skipUnless(os.path.exists(FIT), "llmmem-fit is not built")
    def test_llmmem_fit(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, "mamba2")
            answer = fit(path, "--as=pytorch-eager,fsdp2", "--gpu", "24GB", "--batch", "2", "--seq", "32", "--ranks", "2", "--json")
            self.assertEqual(0, answer.returncode, answer.stderr)
            content = json.loads(answer.stdout)
            source = read_source(path, 2, 32)
            expected = llmmem.torch.predict(source.model, source.inputs, optimizer=llmmem.torch._source.OPTIMIZERS["adamw"], device="h100",
                                            strategies=["eager"]).strategies["eager"]
            self.assertEqual(source.parameters, content["prediction"]["parameters"])
            self.assertEqual(["pytorch-eager", "fsdp2"], [way["way"] for way in content["ways"]])
            self.assertEqual((expected.peak, expected.reserved), tuple(content["ways"][0][f"{what}_bytes"] for what in ("allocated", "reserved")))
            self.assertEqual(content["ways"][0]["reserved_bytes"] + content["reserve_bytes"], content["ways"][0]["in_all_bytes"])
            small = fit(path, "--as=pytorch-eager", "--gpu", "20MB", "--reserve", "1MB", "--batch", "2", "--seq", "32")
            self.assertEqual(2, small.returncode, small.stderr)
            self.assertRegex(small.stdout, r"pytorch-eager .* no\n")

    @unittest.skipUnless(os.path.exists(FIT), "llmmem-fit is not built")
    def test_what_is_missing_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, "mamba2")
            self.assertIn("llmmem-fit --as=all says what ways to train one of transformers hold", fit(path, "--gpu", "24GB").stderr)
            # The Python that made this one's environment has no PyTorch.
            bare = os.path.join(sys.base_prefix, "bin", "python3")
            answer = fit("--torch", "steps:make", "--gpu", "24GB", LLMMEM_PYTHON=bare)
            self.assertEqual(1, answer.returncode)
            self.assertRegex(answer.stderr, f"{bare}.* cannot import torch .*or name a Python that has it in LLMMEM_PYTHON")
            with mock.patch.dict(sys.modules, transformers=None), self.assertRaisesRegex(ValueError, "a config needs transformers, which"):
                read_source(path, 1, 32)


STEPS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

def make(batch, tokens):
    return Net(), torch.empty(batch, tokens, 64), lambda model, x: model(x).square().mean()

def broken():
    return 3
"""


class FunctionTest(unittest.TestCase):
    def run_in(self, folder: str, arguments: List[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-m", "llmmem.torch", *arguments], cwd=folder, env=dict(os.environ, PYTHONPATH=PACKAGE), text=True,
                              capture_output=True)

    def test_a_function(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "steps.py"), "w") as file:
                file.write(STEPS)
            answer = self.run_in(folder, ["predict", "steps:make", "--batch", "8", "--seq", "16", "--strategies", "eager", "--json"])
            content = json.loads(answer.stdout)
            self.assertEqual(4 * (64 * 64 + 64), content["parameters"])
            self.assertGreater(content["strategies"]["eager"]["allocated"], 4 * 4 * content["parameters"])
            for arguments, text in ((["steps:none"], "'steps' has no function 'none'; it has broken, make"),
                                    (["steps:broken"], "steps:broken returned a int; expected .model, inputs. or .model, inputs, loss."),
                                    (["no_steps:make"], "cannot import 'no_steps'"), (["absent.json"], "there is no such file"),
                                    (["steps:make", "--strategies", "fast"], "'fast' is none; expected some of eager")):
                answer = self.run_in(folder, ["predict", *arguments])
                self.assertNotEqual(0, answer.returncode)
                self.assertRegex(answer.stderr, text)

    @unittest.skipUnless(os.path.exists(STUDY), "llmmem-study is not built")
    def test_a_study(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "steps.py"), "w") as file:
                file.write(STEPS)
            done = subprocess.run([STUDY, "--torch", "steps:make", "--batch", "8", "--seq", "16", "--budgets", "2", "--policies", "budget", "-o",
                                   "study.json"], cwd=folder, env=dict(os.environ, LLMMEM_PYTHON=sys.executable), text=True, capture_output=True)
            self.assertEqual(0, done.returncode, done.stderr)
            with open(os.path.join(folder, "study.json")) as file:
                study = json.load(file)
            self.assertEqual(("steps:make", "problem"), (study["title"], study["input"]))
            self.assertTrue(all(point["status"] == "feasible" for point in study["points"]))

    def test_the_planners_problem(self) -> None:
        """It is a step that the planner plans, with the optimizer's state among what is held throughout."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "steps.py"), "w") as file:
                file.write(STEPS)
            path = os.path.join(folder, "problem.json")
            answer = self.run_in(folder, ["problem", "steps:make", "--batch", "8", "--seq", "16", "-o", path])
            self.assertEqual(0, answer.returncode, answer.stderr)
            with open(path) as file:
                problem = llmmem.Problem.from_json(file.read())
            resident = sum(value.bytes for value in problem.values if value.resident)
            parameters = 4 * 4 * (64 * 64 + 64)
            # Counts of steps take 4 bytes for each of eight parameters.
            self.assertEqual(resident, parameters + 2 * parameters + 8 * 4 + 4 * 8 * 16 * 64)
            self.assertTrue(llmmem.plan(problem, "min", seconds=5).is_feasible)

    def test_help_names_exit_codes(self) -> None:
        self.assertEqual(0, main(["--help"]))
        self.assertEqual(1, main(["predict"]))


if __name__ == "__main__":
    unittest.main()
