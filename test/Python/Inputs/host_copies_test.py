"""Plans with a host: a forward of six ops whose results the backward reads in reverse. 100 bytes take 25 ns each way."""

import dataclasses
import unittest

import llmmem
from llmmem import Host, Op, Problem, Value

LAYERS = 6
RATE = 4 * 10**9


def problem(host):
    values = [Value(0), *(Value(100) for _ in range(2 * LAYERS))]
    ops = [Op([layer], [layer + 1], cost=50) for layer in range(LAYERS)]
    for place in range(LAYERS):
        ops.append(Op(dict.fromkeys([LAYERS + place, LAYERS - place]), [LAYERS + place + 1], cost=100))
    return Problem(values, [dataclasses.replace(op, reads=list(op.reads)) for op in ops], keep=[2 * LAYERS], host=host)


class HostCopiesTest(unittest.TestCase):
    def test_copies_take_the_place_of_repeats(self):
        with_host, alone = (llmmem.plan(problem(host), 400) for host in (Host(10_000, RATE, RATE), None))
        copies = [with_host.host.copies[step - 2 * LAYERS] for step in with_host.steps if step >= 2 * LAYERS]
        self.assertEqual(25, copies[0].cost)
        self.assertEqual([copy.value for copy in copies if copy.is_to_host], [copy.value for copy in copies if not copy.is_to_host][::-1])
        self.assertLessEqual(with_host.peak, 400)
        self.assertEqual((900, 900), (with_host.host.time, with_host.host.base_time))
        self.assertEqual(with_host.host.peak, 100 * sum(copy.is_to_host for copy in copies))
        self.assertGreater(alone.cost, 900)

    def test_wrong_plans_are_seen(self):
        asked = problem(Host(10_000, RATE, RATE))
        made = llmmem.plan(asked, 400)
        self.assertEqual([], llmmem.verify(asked, made, 400))
        faster = dataclasses.replace(made, host=dataclasses.replace(made.host, time=made.host.time - 1))
        self.assertEqual(["time"], [found.rule for found in llmmem.verify(asked, faster, 400)])
        back = next(step for step in made.steps if step >= 2 * LAYERS and not made.host.copies[step - 2 * LAYERS].is_to_host)
        without = dataclasses.replace(made, steps=[step for step in made.steps if step != back])
        self.assertNotEqual([], llmmem.verify(asked, without, 400))
        less = dataclasses.replace(asked, host=Host(made.host.peak - 1, RATE, RATE))
        self.assertIn("over-budget", [found.rule for found in llmmem.verify(less, made, 400)])

    def test_some_values_stay(self):
        made = llmmem.plan(problem(Host(10_000, RATE, RATE, may_leave=[2])), "min")
        self.assertEqual({2}, {copy.value for copy in made.host.copies})

    def test_links_are_texts(self):
        self.assertEqual((25 * 10**9, 20 * 10**9), llmmem.parse_link("25GB/s,20GB/s"))
        with self.assertRaisesRegex(ValueError, "'fast' is not a rate of a link"):
            llmmem.parse_link("fast")

    def test_refusals(self):
        for host, options, message in ((Host(99, RATE, RATE), {}, "the smallest has 100 bytes"),
                                       (Host(0, RATE, RATE), {}, "host: budget: must be positive, not 0"),
                                       (Host(100, RATE, 0), {}, "at least 1 byte per second"),
                                       (Host(100, RATE, RATE, may_leave=[99]), {}, "may_leave: has 99; the problem has 13 values"),
                                       (Host(100, RATE, RATE), {"proof": True}, "plans with a host have none yet")):
            with self.assertRaisesRegex(ValueError, message):
                llmmem.plan(problem(host), 400, **options)
        made = llmmem.plan(problem(Host(10_000, RATE, RATE)), 400)
        for ask in (llmmem.explain, llmmem.check):
            with self.assertRaisesRegex(ValueError, "plan: has a host, and .*; verify checks it"):
                ask(problem(None), made)
        with self.assertRaisesRegex(ValueError, "the problem has forms"):
            llmmem.plan(dataclasses.replace(problem(Host(100, RATE, RATE)), forms=[llmmem.Form()]), 400)


if __name__ == "__main__":
    unittest.main()
