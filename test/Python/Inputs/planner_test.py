"""The planner from Python: results, errors with their messages, interrupts."""

import copy
import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import llmmem
from llmmem import Op, Problem, Value

HERE = os.path.dirname(os.path.abspath(__file__))
STEP = os.path.join(HERE, "..", "..", "Planning", "Inputs", "step.json")

# Plans a graph that is no chain of layers, for a long time.
LONG = """
import llmmem, random
rng, values, ops = random.Random(1), [llmmem.Value(1000)], []
for number in range(400):
    reads = sorted({rng.randrange(max(0, number - 60), number + 1) for _ in range(3)})
    values.append(llmmem.Value(rng.randrange(100, 9000)))
    ops.append(llmmem.Op(reads=reads, writes=[number + 1], cost=rng.randrange(1, 90)))
problem = llmmem.Problem(values, ops, keep=[400])
free = llmmem.plan(problem, seconds=0.1)
"""


# Reads a small file, and one that comes through a pipe, in less memory than the largest file that is read.
SMALL = """
import resource, sys
from llmmem import Problem
resource.setrlimit(resource.RLIMIT_AS, (900_000_000, 900_000_000))
print(*(len(Problem.load(path).ops) for path in sys.argv[1:]))
"""


def step() -> Problem:
    return Problem.load(STEP)


# `head` in one piece or in chunks; `both` does the work of head and act at once.
FORMS = {"format": "llmmem-problem", "version": 1,
         "values": [{"id": 10 + number, "bytes": 1000} for number in range(3)],
         "ops": [{"id": 20, "name": "head", "cost": 10, "workspace": 4000, "reads": [10], "writes": [11]},
                 {"id": 21, "name": "act", "cost": 3, "reads": [11], "writes": [12]}],
         "keep": [11, 12],
         "forms": [{"tilings": [[{"op": 20, "cost": 10, "workspace": 4000}], [{"op": 20, "cost": 12, "workspace": 1000}]]},
                   {"values": [{"id": number, "bytes": 1000} for number in range(3)],
                    "ops": [{"id": 0, "name": "both", "cost": 14, "workspace": 1500, "reads": [0], "writes": [1, 2]}],
                    "keep": [1, 2], "tilings": [[]]}]}


class Degenerate(unittest.TestCase):
    """Steps with next to nothing in them: what JAX and PyTorch hand over of a function that computes nothing."""

    def test_has_a_plan(self):
        resident = Value(4, "x", True)
        gradients = [Op([], [number], cost=1, phase="backward") for number in (0, 1)]
        for name, problem in (("nothing", Problem([], [])), ("resident", Problem([resident], [])),
                              ("kept", Problem([resident], [], keep=[0])),
                              ("gradients", Problem([Value(4), Value(64)], gradients, keep=[0, 1]))):
            for budget in ("min", "1GB", None):
                with self.subTest(name=name, budget=budget):
                    self.assertEqual(llmmem.plan(problem, budget, proof=True).status, "feasible")


class Forms(unittest.TestCase):
    def test_takes_the_form_that_the_tool_takes(self):
        problem = Problem.from_json(FORMS)
        for budget, form, cost in (("1MB", (0, 0), 13), (5000, (1, 0), 14), (4000, (0, 1), 15), ("min", (0, 1), 15)):
            with self.subTest(budget=budget):
                theirs = json.loads(subprocess.run(["llmmem-plan", "-", f"--budget={budget}"], input=json.dumps(FORMS),
                                                   check=True, capture_output=True, text=True).stdout)
                ours = llmmem.plan(problem, budget, proof=True)
                self.assertEqual(ours.form, llmmem.FormNumber(*form))
                self.assertEqual({"alternative": form[0], "tiling": form[1]}, theirs["form"])
                self.assertEqual([ours.cost, ours.peak, ours.arena, ours.cost_lower_bound],
                                 [theirs[key] for key in ("cost", "peak", "arena", "cost_lower_bound")])
                self.assertEqual(ours.cost, cost)
                within = None if budget == "min" else budget
                self.assertEqual(llmmem.verify(problem, ours, within), [])
                self.assertNotIn("refused", [claim.verdict for claim in llmmem.check(problem, ours, budget=within)])

    def test_a_small_file_takes_little_memory(self):
        with open(STEP, encoding="utf-8") as file:
            result = subprocess.run([sys.executable, "-c", SMALL, STEP, "/dev/stdin"], input=file.read(), capture_output=True,
                                    text=True)
        count = len(step().ops)
        self.assertEqual((result.stdout, result.stderr), (f"{count} {count}\n", ""))

    def test_a_plan_of_another_form_does_not_hold(self):
        problem = Problem.from_json(FORMS)
        plan = dataclasses.replace(llmmem.plan(problem, 4000), form=llmmem.FormNumber(0, 0))
        self.assertTrue(llmmem.verify(problem, plan, 4000))

    def test_forms_survive_their_text(self):
        problem = Problem.from_json(FORMS)
        again = Problem.from_json(problem.to_json())
        self.assertEqual(again, problem)
        self.assertEqual([op.name for op in problem.in_form(llmmem.FormNumber(1, 0)).ops], ["both"])
        self.assertEqual(problem.in_form(llmmem.FormNumber(0, 1)).ops[0].workspace, 1000)
        self.assertEqual(problem.in_form(None).ops, problem.ops)

    def test_the_policy_selective_recomputes_what_a_form_selects(self):
        data = {"format": "llmmem-problem", "version": 1,
                "values": [{"id": number, "bytes": size} for number, size in enumerate((1000, 4000, 1000, 1000))],
                "ops": [{"id": 0, "cost": 10, "reads": [0], "writes": [1], "phase": "forward", "micro_batch": 0},
                        {"id": 1, "cost": 30, "reads": [1], "writes": [2], "phase": "forward", "micro_batch": 0},
                        {"id": 2, "cost": 50, "reads": [2, 1], "writes": [3], "phase": "backward", "micro_batch": 0}],
                "keep": [3], "forms": [{"tilings": [[]], "selected": [0]}]}
        problem = Problem.from_json(data)
        self.assertEqual([list(form.selected) for form in problem.forms], [[0]])
        self.assertEqual(Problem.from_json(problem.to_json()), problem)
        theirs = json.loads(subprocess.run(["llmmem-plan", "-", "--policy=selective"], input=json.dumps(data),
                                           check=True, capture_output=True, text=True).stdout)
        ours = llmmem.plan(problem, policy="selective")
        self.assertEqual([list(ours.steps), ours.cost], [theirs["steps"], theirs["cost"]])
        self.assertEqual(ours.cost, 100)

    def test_wrong_forms_are_named(self):
        problem = Problem.from_json(FORMS)
        stated, other = problem.forms
        for change, text in (({"choice": "luck"}, "choice: is 'luck'; expected 'plan' or 'ops_once'"),
                             ({"forms": [other]}, "exactly one must have no ops of its own"),
                             ({"forms": [stated, stated]}, "exactly one must have no ops of its own"),
                             ({"forms": [llmmem.Form([])]}, r"forms\[0\]: has no tiling"),
                             ({"forms": [llmmem.Form([llmmem.Tiling([(0, 1, 1)]), llmmem.Tiling()])]},
                              r"forms\[0\]: all tilings must name the same ops, each once"),
                             ({"forms": [llmmem.Form(stated.tilings[::-1])]}, "must come with the largest workspaces first")):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                llmmem.plan(dataclasses.replace(problem, **change))
        for number, text in ((llmmem.FormNumber(2, 0), "form: is 2; the problem has 2"),
                             (llmmem.FormNumber(0, 2), "tiling: is 2; form 0 has 2")):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                problem.in_form(number)


class Offsets(unittest.TestCase):
    def test_are_values(self):
        offset = llmmem.Offset(step=3, value=None, offset=256)
        self.assertEqual(offset, llmmem.Offset(3, None, 256))
        self.assertEqual([field.name for field in dataclasses.fields(offset)], list(vars(offset)))
        self.assertEqual(dataclasses.replace(offset, value=7), llmmem.Offset(3, 7, 256))
        self.assertEqual(copy.deepcopy(offset), pickle.loads(pickle.dumps(offset)))
        self.assertEqual(len({offset, llmmem.Offset(3, None, 256), llmmem.Offset(3, 0, 256)}), 2)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            offset.step = 4


class Planning(unittest.TestCase):
    def test_plans_as_the_tool_does(self):
        with open(STEP, encoding="utf-8") as file:
            ids = [op["id"] for op in json.load(file)["ops"]]
        for budget in (None, "6kB", 5999, "5.5KiB", "min"):
            with self.subTest(budget=budget):
                flags = [] if budget is None else [f"--budget={budget}"]
                text = subprocess.run(["llmmem-plan", STEP, *flags], check=True, capture_output=True, text=True).stdout
                theirs, problem = json.loads(text), step()
                ours = llmmem.plan(problem, budget)
                self.assertEqual([ids[op] for op in ours.steps], theirs["steps"])
                self.assertEqual([ours.peak, ours.arena, ours.cost, ours.base_cost, ours.cost_lower_bound],
                                 [theirs[key] for key in ("peak", "arena", "cost", "base_cost", "cost_lower_bound")])
                self.assertEqual([(it.step, it.offset) for it in ours.offsets],
                                 [(at, offset) for at, _, offset in theirs["offsets"]])
                self.assertTrue(ours.is_feasible)
                self.assertIsNone(ours.witness)
                self.assertEqual(llmmem.verify(problem, ours, None if budget == "min" else budget), [])

    def test_min_takes_the_place_of_the_problems_budget(self):
        problem = dataclasses.replace(step(), budget=100)
        self.assertEqual(llmmem.plan(problem).status, "infeasible")
        self.assertEqual(llmmem.plan(problem, "min").status, "feasible")

    def test_has_the_version_of_its_library(self):
        self.assertRegex(llmmem.__version__, r"^\d+\.\d+\.\d+$")

    def test_says_why_there_is_no_plan(self):
        made = llmmem.plan(step(), 100)
        self.assertEqual((made.status, made.steps, made.is_feasible), ("infeasible", [], False))
        self.assertTrue(made.witness.proved)
        self.assertGreater(made.witness.bytes, 100)

    def test_writes_the_json_that_it_reads(self):
        problem = step()
        self.assertEqual(Problem.from_json(problem.to_json()), problem)
        self.assertEqual(llmmem.plan(json.loads(problem.to_json())).steps, llmmem.plan(problem).steps)

    def test_reports_progress_in_the_calling_thread(self):
        activities = []
        llmmem.plan(step(), "5.5KiB", progress=lambda activity: activities.append((activity, threading.get_ident())))
        self.assertTrue(activities)
        self.assertEqual({thread for _, thread in activities}, {threading.get_ident()})

    def test_threads_plan_at_once(self):
        problem, plans = step(), []
        threads = [threading.Thread(target=lambda: plans.append(llmmem.plan(problem, 5999))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({(tuple(plan.steps), plan.arena) for plan in plans}), 1)
        self.assertEqual(len(plans), 4)


class Checking(unittest.TestCase):
    def test_names_the_rule_that_a_plan_breaks(self):
        problem = step()
        made = llmmem.plan(problem)
        wrong = dataclasses.replace(made, cost=made.cost + 1)
        self.assertEqual([(it.step, it.rule) for it in llmmem.verify(problem, wrong)], [(None, "cost")])
        self.assertIn("over-budget", [it.rule for it in llmmem.verify(problem, made, made.arena - 1)])
        with self.assertRaisesRegex(ValueError, "plan: cost: "):
            llmmem.explain(problem, wrong)

    def test_checks_what_a_plan_claims(self):
        problem = step()
        plan = llmmem.plan(problem, "min", proof=True)
        claims = {claim.claim: claim.verdict for claim in llmmem.check(problem, plan)}
        self.assertEqual(claims, {"plan": "checked", "cost": "checked", "peak": "checked"})
        lie = dataclasses.replace(plan, peak_lower_bound=plan.peak_lower_bound + 1)
        self.assertIn("refused", [claim.verdict for claim in llmmem.check(problem, lie)])
        none = llmmem.plan(problem, plan.peak - 1, proof=True)
        self.assertEqual(llmmem.check(problem, none, budget=plan.peak - 1)[-1].verdict, "checked")
        self.assertEqual(llmmem.check(problem, none)[0].verdict, "refused")  # the proof is of another budget
        with self.assertRaisesRegex(ValueError, "plan with proof=True"):
            llmmem.check(problem, llmmem.plan(problem, "min"))
        with self.assertRaisesRegex(ValueError, "proof: line 1"):
            llmmem.check(problem, plan, "no proof")

    def test_explains(self):
        problem = step()
        kept, again = (llmmem.explain(problem, llmmem.plan(problem, budget))[0] for budget in (None, "min"))
        self.assertEqual((kept.runs, kept.can_recompute, again.runs, kept.value), (1, True, 2, again.value))
        self.assertGreater(kept.other_cost, 0)

    def test_packs(self):
        packing = llmmem.pack([0, 1, 2], [2, 3, 4], [4, 4, 4], seconds=1)
        self.assertEqual((packing.arena, packing.lower_bound), (8, 8))
        self.assertEqual(llmmem.pack([], [], []), llmmem.Packing())


class Errors(unittest.TestCase):
    def refused(self, text, function, *arguments, kind=ValueError, **options):
        with self.assertRaises(kind) as raised:
            function(*arguments, **options)
        self.assertIn(text, str(raised.exception))

    def test_budgets(self):
        problem = step()
        self.refused("budget: '4 gigs' is not a size in bytes: unknown unit 'gigs', expected B, kB", llmmem.plan,
                     problem, "4 gigs")
        self.refused("budget: expected whole bytes or a text such as '4GB', not 4000.0", llmmem.plan, problem, 4e3)
        self.refused("budget: must be positive, not 0", llmmem.plan, problem, 0)
        self.refused("'' is not a size in bytes", llmmem.plan, problem, "")
        self.refused("'min' chooses for itself", llmmem.plan, problem, "min", policy="full")
        self.refused("capacity: '1 MX'", llmmem.pack, [0], [1], [1], capacity="1 MX")

    def test_options(self):
        self.refused("policy: unknown policy 'best'", llmmem.plan, step(), policy="best")
        self.refused("seconds: expected a positive number, not 0", llmmem.plan, step(), seconds=0)
        self.refused("seconds", llmmem.plan, step(), seconds=float("nan"))
        self.refused("problem: expected a Problem or the JSON of one, not str", llmmem.plan, "step.json",
                     kind=TypeError)

    def test_problems(self):
        one = Value(1)
        self.refused("reads value 1 before ops[1] writes it", llmmem.plan,
                     Problem([one, one, one], [Op([1], [2]), Op([0], [1])]))
        self.refused("names no value", llmmem.plan, Problem([one], [Op([7], [0])]))
        self.refused("values[0]: id and bytes must not be negative", llmmem.plan, Problem([Value(-1)], []))
        self.refused("does not fit into 64 bits", llmmem.plan, Problem([Value(1 << 63)], []))
        self.refused("does not fit into 32 bits", llmmem.plan, Problem([one], [Op([1 << 32], [0])]))
        self.refused("ops[0].phase: is 'sideways'", llmmem.plan, Problem([one], [Op([], [0], phase="sideways")]))
        self.refused("alignment: must not be negative", llmmem.plan, Problem([one], [], alignment=-8))
        self.refused("'format': 'llmmem-problem'".replace("'", '"'), Problem.from_json, "{}")
        self.refused("the problem has no 'values'", Problem.from_json, {"format": "llmmem-problem", "version": 1})

    def test_names_are_those_of_the_problem(self):
        values = [Value(1, name="vwx")] + [Value(1)] * 3
        for names, text in ((("", "héad", "z"), "ops[2] 'z': id"), (("a", "", ""), "ops[2]: id"), (("", "", ""), "ops[2]: id")):
            ops = [Op([0], [1], name=names[0]), Op([1], [2], name=names[1]), Op([2], [3], name=names[2], cost=-1)]
            self.refused(text, llmmem.plan, Problem(values, ops))
        ops[1] = Op([1], [2], name="héad", workspace=-1)
        self.refused("ops[1] 'héad': id", llmmem.plan, Problem(values, ops))

    def test_buffers(self):
        self.refused("equally long; they have 1, 2 and 1 numbers", llmmem.pack, [0], [1, 2], [1])
        self.refused("upper[0]: must be larger than lower", llmmem.pack, [1], [1], [1])
        self.refused("alignment: must not be negative", llmmem.pack, [0], [1], [1], alignment=-1)


class Interrupts(unittest.TestCase):
    def test_control_c_ends_a_search(self):
        # Where the suite runs in the background, it and its children ignore SIGINT.
        code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + LONG
        code += "llmmem.plan(problem, free.arena // 2, seconds=1e5, progress=lambda it: print(it, flush=True))"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            child.stdout.readline()
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            try:
                _, errors = child.communicate(timeout=30)
            finally:
                child.kill()
        self.assertIn("KeyboardInterrupt", errors)
        self.assertEqual(child.returncode, -signal.SIGINT)

    def test_an_exception_of_progress_ends_a_search(self):
        scope = {}
        exec(LONG, scope)  # pylint: disable=exec-used

        def stop(activity):
            raise LookupError(activity)

        start = time.monotonic()
        with self.assertRaises(LookupError):
            llmmem.plan(scope["problem"], scope["free"].arena // 2, seconds=1e5, progress=stop)
        self.assertLess(time.monotonic() - start, 30)


class DeviceTest(unittest.TestCase):
    def test_shipped_tables(self):
        h100 = llmmem.DEVICES["h100"]
        self.assertEqual(h100, llmmem.device("h100"))
        self.assertEqual(list(llmmem.DEVICES)[:3], ["h100", "h200", "a100"])
        with open(os.path.join(HERE, "..", "..", "..", "lib", "Device", "Tables", "h100.json"), encoding="utf-8") as file:
            table = json.load(file)
        self.assertEqual(h100.flops_per_ns, tuple(table["flops_per_ns"][numbers] for numbers in ("f32", "bf16", "f64")))
        for numbers, rate in table["flops_per_ns"].items():
            self.assertEqual(h100.nanoseconds(7 * rate + 1, 0, numbers), 8 + table["launch_ns"])
        self.assertEqual(h100.nanoseconds(1, 7 * table["bytes_per_ns"]), 7 + table["launch_ns"])
        self.assertEqual(copy.deepcopy(h100), pickle.loads(pickle.dumps(h100)))
        self.assertLess(h100.nanoseconds(1 << 70, 0), 1 << 63)

    def test_own_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "own.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"flops_per_ns": {"bf16": 30, "f32": 20, "f64": 10}, "bytes_per_ns": 2, "launch_ns": 5}, file)
            self.assertEqual(llmmem.device(path).nanoseconds(600, 0, "f64"), 65)
        self.assertEqual(llmmem.Device(flops=1e11, bandwidth=1e10, launch=3).nanoseconds(1000, 10, "f64"), 13)

    def test_unknown_tables(self):
        with self.assertRaisesRegex(ValueError, "unknown device 'tpu'; expected one of h100, h200, .*, or a file that ends in .json"):
            llmmem.device("tpu")
        with self.assertRaisesRegex(ValueError, "absent.json"):
            llmmem.device("absent.json")


if __name__ == "__main__":
    unittest.main()
