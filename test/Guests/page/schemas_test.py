"""The JSON Schemas of docs/Schemas hold for what the tools write and for the problems of the tests, and refuse what the tools refuse."""

import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import jsonschema

from page_test import BIN, ROOT, make_problem


def validator(name):
    with open(os.path.join(ROOT, "docs", "Schemas", f"{name}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class SchemasTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.schemas = {name: validator(name) for name in ("problem", "plan", "memory-report")}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_tool(self, tool, *arguments):
        return subprocess.run([os.path.join(BIN, tool), *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    def test_what_the_planner_takes_and_gives(self):
        path = os.path.join(self.folder, "problem.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(make_problem().to_json())
        self.schemas["problem"].validate(read(path))
        for budget, code in (("1GB", 0), ("min", 0), ("1kB", 2)):
            with self.subTest(budget):
                self.assertEqual(code, self.run_tool("llmmem-plan", path, f"--budget={budget}", "-o", "plan.json").returncode)
                self.schemas["plan"].validate(read(os.path.join(self.folder, "plan.json")))

    def test_plans_with_a_host(self):
        path = os.path.join(self.folder, "problem.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(make_problem().to_json())
        self.assertEqual(0, self.run_tool("llmmem-plan", path, "--budget=5MB", "--host-budget=1GB", "--link=25GB/s", "-o", "plan.json").returncode)
        self.schemas["plan"].validate(read(os.path.join(self.folder, "plan.json")))

    def test_problems_of_the_tests(self):
        found = 0
        for path in sorted(glob.glob(os.path.join(ROOT, "test", "Planning", "Inputs", "*.json"))):
            content = read(path)
            name = str(content.get("format", "")).removeprefix("llmmem-") if isinstance(content, dict) else ""
            if name not in self.schemas:
                continue
            with self.subTest(os.path.basename(path)):
                if name == "problem" and self.run_tool("llmmem-plan", path, "--structure").returncode == 0:
                    found += 1
                    self.schemas[name].validate(content)
        self.assertGreaterEqual(found, 3)

    def test_an_unknown_key_is_refused_by_both(self):
        problem = json.loads(make_problem().to_json())
        problem["ops"][0]["costs"] = 3
        with self.assertRaises(jsonschema.ValidationError):
            self.schemas["problem"].validate(problem)
        path = os.path.join(self.folder, "wrong.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(problem, file)
        self.assertEqual(1, self.run_tool("llmmem-plan", path, "-o", "plan.json").returncode)

    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "llmmem-opt")), "built without MLIR")
    def test_what_a_step_says(self):
        config = os.path.join(ROOT, "examples", "configs", "tiny-gpt2.json")
        self.assertEqual(0, self.run_tool("llmmem-import", config, "--batch", "2", "--seq", "32", "-o", "model.mlir").returncode)
        for budget in ("min", "100MB"):
            done = self.run_tool("llmmem-opt", f"--checkpoint-budget={budget}", "--emit-problem=problem.json", "--emit-plan=plan.json",
                                 "--memory-report-json=report.json", "model.mlir", "-o", "step.mlir")
            self.assertEqual(0, done.returncode, done.stderr)
            for name, file in (("problem", "problem"), ("plan", "plan"), ("memory-report", "report")):
                self.schemas[name].validate(read(os.path.join(self.folder, f"{file}.json")))


if __name__ == "__main__":
    unittest.main()
