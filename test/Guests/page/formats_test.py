"""The JSON Schemas of docs/Schemas hold for the files that llmmem ships and for what its tools write; schemas_test.py has problems, plans and reports."""

import copy
import glob
import json
import os
import runpy
import shutil
import subprocess
import tempfile
import unittest

import jsonschema

from page_test import BIN, ROOT, make_problem
from schemas_test import read, validator

CONFIG = os.path.join(ROOT, "examples", "configs", "tiny-gpt2.json")
STEP = os.path.join(ROOT, "test", "Cuda", "Inputs", "step.mlir")


def validators():
    """Returns what checks each format, by its name."""
    paths = glob.glob(os.path.join(ROOT, "docs", "Schemas", "*.schema.json"))
    return {os.path.basename(path).removesuffix(".schema.json"): validator(os.path.basename(path).removesuffix(".schema.json")) for path in paths}


class FormatsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(BIN, "llmmem-opt")):
            raise unittest.SkipTest("built without MLIR")
        cls.folder = tempfile.mkdtemp()
        cls.schemas = validators()
        cls.problem = os.path.join(cls.folder, "problem.json")
        with open(cls.problem, "w", encoding="utf-8") as file:
            file.write(make_problem().to_json())
        cls.model = os.path.join(cls.folder, "model.mlir")
        subprocess.run([os.path.join(BIN, "llmmem-import"), CONFIG, "--batch", "2", "--seq", "32", "-o", cls.model], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_tool(self, tool, *arguments, code=0, **environment):
        done = subprocess.run([os.path.join(BIN, tool), *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout

    def hold(self, name, content):
        """Checks `content`, and that the schema would see a key that the format does not have."""
        self.schemas[name].validate(content)
        wrong = copy.deepcopy(content)
        wrong["nonsense"] = 1
        with self.assertRaises(jsonschema.ValidationError):
            self.schemas[name].validate(wrong)

    def test_each_schema_has_a_test(self):
        with open(__file__, encoding="utf-8") as own, open(os.path.join(os.path.dirname(__file__), "schemas_test.py"), encoding="utf-8") as other:
            text = own.read() + other.read()
        for name in self.schemas:
            self.assertIn(f'"{name}"', text)

    def test_device_tables(self):
        tables = glob.glob(os.path.join(ROOT, "lib", "Device", "Tables", "*.json")) + glob.glob(os.path.join(ROOT, "docs", "Measured", "*.prices.json"))
        self.assertGreater(len(tables), 20)
        for path in tables:
            with self.subTest(os.path.basename(path)):
                self.hold("device-table", read(path))
        self.hold("device-table", json.loads(self.run_tool("llmmem-opt", "--checkpoint-device=l4", "--print-device-table")))

    def test_topologies_and_mesh_reports(self):
        topology = {"devices": [{"table": "h100", "memory": "4GB", "count": 4}]}
        nodes = {**topology, "name": "two nodes", "devices_per_node": 2, "within_node": {"bytes_per_ns": 200, "latency_ns": 2000},
                 "between_nodes": {"bytes_per_ns": 25, "latency_ns": 5000}}
        for number, content in enumerate((topology, nodes, {"devices": [{"table": "h100", "memory": "3MB", "reserve": "2MB", "count": 2}]})):
            with self.subTest(number):
                self.hold("topology", content)
                with open(self.path("cluster.json"), "w", encoding="utf-8") as file:
                    json.dump(content, file)
                self.run_tool("llmmem-opt", "--mesh=auto", "--mesh-only", "--topology=cluster.json", "--mesh-report=mesh.json", self.model,
                              "-o", "step.mlir", code=2 if number == 2 else 0)
                self.hold("mesh-report", read(self.path("mesh.json")))

    def test_op_tables(self):
        self.hold("op-table", read(os.path.join(ROOT, "lib", "Analysis", "OpTables", "stablehlo.json")))
        self.hold("op-table", {"format": "llmmem-op-table", "version": 1, "ops": [{"ops": ["test.dot"], "flops_product": [2, [0, 0], [0, 1]]}]})
        with self.assertRaises(jsonschema.ValidationError):
            self.schemas["op-table"].validate({"format": "llmmem-op-table", "version": 1, "ops": [{"flops": "dot"}]})

    def test_proofs_and_timelines(self):
        for budget, code in (("min", 0), ("1GB", 0), ("6MB", 0), ("1kB", 2)):
            with self.subTest(budget):
                asked = [] if code else ["--timeline=timeline.json"]
                self.run_tool("llmmem-plan", self.problem, f"--budget={budget}", "--emit-proof=proof.json", "-o", "plan.json", *asked, code=code)
                self.hold("proof", read(self.path("proof.json")))
                if not code:
                    self.hold("timeline", read(self.path("timeline.json")))

    def test_proofs_of_a_step(self):
        for budget in ("min", "9MB"):
            self.run_tool("llmmem-opt", f"--checkpoint-budget={budget}", "--emit-proof=proof.json", self.model, "-o", "step.mlir")
            self.hold("proof", read(self.path("proof.json")))

    def test_studies(self):
        self.run_tool("llmmem-study", CONFIG, "--batch", "2", "--seq", "32", "--budgets", "2", "--policies", "budget,full", "--seconds", "0.1",
                      "-o", "study.json", PYTHONPATH=os.path.join(ROOT, "python"))
        self.hold("study", read(self.path("study.json")))
        self.run_tool("llmmem-study", self.problem, "--budgets", "1kB,1GB", "--policies", "budget", "-o", "other.json",
                      PYTHONPATH=os.path.join(ROOT, "python"))
        self.hold("study", read(self.path("other.json")))

    def test_answers_of_fit(self):
        brief = ("--seq", "32", "--seconds", "0.1", "--json")
        for number, (arguments, code) in enumerate((
                (("--gpu", "4090", *brief), 0), (("--gpu", "24GB", "--batch", "2", *brief), 0), (("--gpu", "2MB", "--reserve", "0", *brief), 2),
                (("--gpu", "2x3090", *brief), 0),
                (("--gpu", "4090", "--inference", "--context", "64", "--json"), 0))):
            with self.subTest(number):
                self.hold("fit", json.loads(self.run_tool("llmmem-fit", CONFIG, *arguments, code=code)))

    def test_predictions(self):
        module = runpy.run_path(os.path.join(ROOT, "python", "llmmem", "torch", "_prediction.py"))  # The package itself needs PyTorch.
        peak = module["Peak"](4096, None, {"parameters": 4000, "workspace": 96})
        strategy = module["Strategy"]([{"forward": peak}, {"forward": peak, "backward": peak}], ("aten.convolution",))
        written = json.loads(module["Prediction"]("cpu", True, {"eager": strategy}).to_json())
        self.hold("torch-prediction", written)
        self.hold("torch-prediction", {**written, "model": "a:b", "parameters": 1000, "dtype": "f32", "batch": 1, "seq": 64, "optimizer": "adamw", "ranks": None,
                                       "refused": {"planned": "no plan within 23 GB"}})
        answer = self.run_tool("llmmem-fit", "--torch", "some:make", "--as=pytorch-eager,fsdp2,ours", "--gpu", "rtx4090", "--ranks", "4", "--batch", "2",
                               "--seq", "64", "--dtype", "bf16", "--json", LLMMEM_PYTHON=os.path.join(ROOT, "test", "Fit", "Inputs", "fake-python"),
                               DEVICE="rtx4090", BUDGET="23000000000")
        self.hold("fit", json.loads(answer))

    def test_bundles_and_profiles(self):
        self.run_tool("llmmem-bundle", STEP, "--chips=sm_80", "--ptxas=none", "-o", "bundle.json")
        self.hold("bundle", read(self.path("bundle.json")))
        self.run_tool("llmmem-opt", "--checkpoint-budget=min", self.model, "-o", "step.mlir")
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("words that a step learns\n" * 40)
        self.run_tool("llmmem-run", "step.mlir", "--data", "text", "--steps", "2", "--gemm=builtin", "--profile-json=profile.json")
        self.hold("profile", read(self.path("profile.json")))


if __name__ == "__main__":
    unittest.main()
