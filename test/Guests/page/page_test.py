"""The page of llmmem-study in a real browser: it loads without errors and without a network, draws, reacts to clicks and keys,
and says what the study's JSON says. Needs Debian's chromium, chromium-driver and node-d3."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import llmmem

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(os.environ["LLMMEM_LIBRARY"]))), "bin")
MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)] + (
    [] if os.path.exists("/usr/share/nodejs/d3/dist/d3.min.js") or "LLMMEM_D3" in os.environ else ["node-d3"])
BLOCKS = 6


def open_browser():
    """Returns a browser that logs what pages say and load."""
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1600"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def make_problem():
    """Makes a step of equal blocks: what a small transformer looks like to the planner. <b> is to be text in the page."""
    values, ops = [], []

    def value(size, name):
        values.append(llmmem.Value(size, name))
        return len(values) - 1

    values.append(llmmem.Value(4_000_000, "weights", resident=True))
    held = value(100_000, "embed<b>")
    ops.append(llmmem.Op([0], [held], 500, phase="forward", name="embed"))
    saved = []
    for block in range(BLOCKS):
        up, out = value(400_000, f"h.{block}.up"), value(100_000, f"h.{block}.out")
        ops.append(llmmem.Op([0, held], [up], 4000, block=block, phase="forward", name="up"))
        ops.append(llmmem.Op([0, up], [out], 4000, block=block, phase="forward", name="down"))
        saved.append((held, up))
        held = out
    gradient = value(100_000, "loss.gradient")
    ops.append(llmmem.Op([held], [gradient], 900, workspace=200_000, phase="backward", name="loss"))
    for block in reversed(range(BLOCKS)):
        held, up = saved[block]
        d_up, d_in = value(400_000, f"h.{block}.up.gradient"), value(100_000, f"h.{block}.gradient")
        ops.append(llmmem.Op([gradient, up], [d_up], 8000, block=block, phase="backward", name="down_grad"))
        ops.append(llmmem.Op([d_up, held], [d_in], 8000, block=block, phase="backward", name="up_grad"))
        gradient = d_in
    return llmmem.Problem(values, ops, keep=[gradient], alignment=256)


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        problem, cls.page = (os.path.join(cls.folder, name) for name in ("problem.json", "study.html"))
        with open(problem, "w", encoding="utf-8") as file:
            file.write(make_problem().to_json())
        environment = dict(os.environ, PATH=BIN + os.pathsep + os.environ["PATH"])
        subprocess.run([sys.executable, "-m", "llmmem._study.command", problem, "--budgets", "5", "--title", "A <b>study</b>",
                        "-o", cls.page], check=True, env=environment, stderr=subprocess.DEVNULL)
        with open(os.path.join(cls.folder, "study.json"), encoding="utf-8") as file:
            cls.study = json.load(file)
        cls.model_page = os.path.join(cls.folder, "model.html")
        subprocess.run([sys.executable, "-m", "llmmem._study.command", os.path.join(ROOT, "examples", "configs", "tiny-gpt2.json"), "--batch", "2",
                        "--seq", "64", "--policies", "none", "-o", cls.model_page], check=True, env=environment, stderr=subprocess.DEVNULL)
        cls.browser = open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.open("")

    def open(self, fragment, page=None):
        from selenium.webdriver.support.ui import WebDriverWait
        self.browser.get("about:blank")
        self.browser.get("file://" + (page or self.page) + fragment)
        WebDriverWait(self.browser, 30).until(lambda browser: self.run_script("document.documentElement.dataset.drawn") == "true")

    def run_script(self, text, *arguments):
        return self.browser.execute_script("return " + text, *arguments)

    def find(self, selector):
        return self.browser.find_elements("css selector", selector)

    def press(self, element, *keys):
        self.browser.execute_script("arguments[0].focus()", element)
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def planned(self):
        return [point for point in self.study["points"] if point["status"] == "feasible"]

    def test_loads_without_errors_or_network(self):
        for kind in ("browser", "performance"):
            self.browser.get_log(kind)  # of the tests before
        self.open("")
        self.assertEqual([], self.browser.get_log("browser"))
        requests = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        urls = [it["params"]["request"]["url"] for it in requests if it["method"] == "Network.requestWillBeSent"]
        self.assertTrue(all(url.startswith(("file://", "data:", "about:", "blob:")) for url in urls), urls)

    def test_text_is_no_markup(self):
        self.assertEqual("A <b>study</b>", self.find("h1")[0].text)
        self.assertEqual([], self.find("h1 b, .strip b, .why b b"))

    def test_draws_every_plan_and_says_its_numbers(self):
        names = [mark.get_attribute("data-name") for mark in self.find(".point")]
        self.assertEqual(sorted(point["name"] for point in self.planned()), sorted(names))
        for point in self.planned():
            row = self.find(f"tr[data-name='{point['name']}']")[0]
            self.assertEqual(str(point["needed"]), row.find_element("css selector", "[data-needed]").get_attribute("data-needed"))
            self.assertEqual(str(point["time_ns"]), row.find_element("css selector", "[data-time]").get_attribute("data-time"))

    def test_stacks_add_up_to_the_planner_s_live_bytes(self):
        for point in self.planned():
            self.assertTrue(self.run_script("page.study.detail(page.study.byName.get(arguments[0])).addsUp()", point["name"]))
            steps = self.run_script("page.study.detail(page.study.byName.get(arguments[0])).steps.map(step => step.live)", point["name"])
            self.assertEqual(max(steps), point["peak"])

    def test_a_click_shows_a_plan_and_a_shifted_one_another_beside_it(self):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys
        marks = {mark.get_attribute("data-name"): mark for mark in self.find(".point")}
        self.assertEqual(1, len([card for card in self.find(".plan") if card.is_displayed()]))
        self.browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", marks["full"])
        self.assertIn("full", self.find("#plan-a h3")[0].text)
        ActionChains(self.browser).key_down(Keys.SHIFT).click(marks["sqrt"]).key_up(Keys.SHIFT).perform()
        self.assertIn("sqrt", self.find("#plan-b h3")[0].text)
        self.assertIn("a=full&b=sqrt", self.browser.current_url)
        full, sqrt = (next(it for it in self.planned() if it["name"] == name) for name in ("full", "sqrt"))
        needs = next(row for row in self.find("#ledger tr") if row.text.startswith("needs"))
        self.assertEqual([str(full["needed"]), str(sqrt["needed"])],
                         [cell.get_attribute("data-bytes") for cell in needs.find_elements("css selector", "[data-bytes]")])

    def test_keys_walk_and_choose(self):
        from selenium.webdriver.common.keys import Keys
        order = [point["name"] for point in sorted(self.planned(), key=lambda it: it["needed"])]
        marks = self.find(".point")
        self.press(marks[0], Keys.ARROW_RIGHT, Keys.ENTER)
        self.assertEqual(order[1], self.run_script("page.state.a"))
        self.press(self.find(".timeline")[0], "p")
        point = next(it for it in self.planned() if it["name"] == order[1])
        self.assertIn(f"step {point['timeline']['peak_step']}", self.find("#tip")[0].text)
        before = self.find("#plan-a .why")[0].text
        self.press(self.find("#plan-a canvas")[0], "n")
        self.assertNotEqual(before, self.find("#plan-a .why")[0].text)
        self.press(self.find("#plan-a canvas")[0], "+")
        self.assertGreater(self.run_script("page.plans.a.arena.transform.k"), 1)

    def test_strip_has_the_decisions(self):
        self.open("#a=full")
        point = next(it for it in self.planned() if it["name"] == "full")
        kept = sum(row[7] for row in point["timeline"]["saved"])
        self.assertEqual(kept, len(self.find("#plan-a .cell-kept")))
        self.assertEqual(len(point["timeline"]["saved"]) - kept, len(self.find("#plan-a .cell-again")))

    def test_arena_is_drawn_in_the_colours_of_its_kinds(self):
        for scheme in ("light", "dark"):
            self.browser.execute_script("theme.chosen = arguments[0]; theme.apply(); drawAll()", scheme)
            colours = self.run_script("""(() => {
                const canvas = document.querySelector('#plan-a canvas'), seen = new Set();
                const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
                for (let at = 0; at < data.length; at += 4) seen.add(d3.rgb(data[at], data[at + 1], data[at + 2]).hex());
                return ['saved', 'gradient', 'workspace'].map(kind => seen.has(d3.rgb(themeColour(kind)).hex())); })()""")
            self.assertEqual([True, True, True], colours, scheme)

    def test_parameters_gradients_and_state_are_apart(self):
        self.open("", self.model_page)
        self.assertEqual("tiny-gpt2", self.find("h1")[0].text)
        with open(os.path.join(self.folder, "model.json"), encoding="utf-8") as file:
            point = json.load(file)["points"][0]
        self.assertTrue(self.run_script("page.study.detail(page.study.planned[0]).addsUp()"))
        stack = dict(self.run_script("page.study.detail(page.study.planned[0]).stacks.kind.map(([key, bytes]) => [key, bytes[0]])"))
        colours = {self.run_script("themeColour(arguments[0])", f"role-{role}") for role in ("param", "gradient", "optimizer_state")}
        self.assertEqual(3, len(colours))
        for role in ("param", "gradient", "optimizer_state"):
            self.assertEqual(point["roles"][role], stack[f"role-{role}"])
        legend, bands = self.find("#kinds")[0].text, [label.text for label in self.find(".resident-label")]
        for name in ("parameters", "gradients of parameters", "optimizer state"):
            self.assertRegex(legend, name + r" \d+\.\d\d [kM]B")
        self.assertTrue(any(band.startswith("optimizer state") for band in bands), bands)

    def test_times_are_called_modelled(self):
        self.open("", self.model_page)
        self.assertIn("is modelled to take", self.find("#finding")[0].text)
        self.assertIn("a step, modelled", self.find("#plan-a .facts")[0].text)
        self.assertIn("a step, modelled", self.find("#points thead")[0].text)

    def test_axes_that_begin_above_zero_are_marked(self):
        self.assertEqual(2, len(self.find("#frontier .axis-break")))
        self.assertIn("the axis begins at", self.find("#frontier")[0].text)
        self.assertEqual([], self.find(".timeline .axis-break"))
        self.open("#from=arena")
        self.assertEqual(1, len(self.find(".timeline .axis-break")))
        self.assertIn("the axis begins at", self.find(".timeline")[0].text)

    def test_names_are_next_to_their_numbers(self):
        for row in self.find("#ledger tbody tr:not(.group)"):
            name, value = row.find_elements("css selector", "td")[:2]
            if value.get_attribute("data-bytes"):
                self.assertLess(value.rect["x"] + value.rect["width"] - name.rect["x"], 600)
        for row in self.find("#plan-a .row-bytes"):
            self.assertLess(row.rect["x"] - self.find("#plan-a .strip")[0].rect["x"], 230)

    def test_prints_on_white_without_controls(self):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            self.assertFalse(self.find(".controls")[0].is_displayed())
            self.assertEqual("rgb(255, 255, 255)", self.run_script("getComputedStyle(document.body).backgroundColor"))
        finally:
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


if __name__ == "__main__":
    unittest.main()
