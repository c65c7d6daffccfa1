"""The site of the pages in a real browser: it loads nothing from elsewhere, searches, and fits a phone. utils/docs makes it."""

import functools
import http.server
import json
import os
import subprocess
import threading
import unittest
import urllib.request

from page_test import BIN, MISSING, ROOT, open_browser

PHONE = (390, 844)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = os.path.dirname(BIN)
        if not os.path.exists(os.path.join(build, "bin", "llmmem")):
            raise unittest.SkipTest("the reference is made by a build with MLIR")
        printed = subprocess.run([os.path.join(ROOT, "utils", "docs"), "--build", build], check=True, capture_output=True, text=True)
        site = os.path.dirname(printed.stdout.splitlines()[-1])
        handler = functools.partial(QuietHandler, directory=site)
        cls.server = http.server.ThreadingHTTPServer(("localhost", 0), handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.browser = open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.shutdown()
        cls.server.server_close()

    def open(self, page):
        self.browser.get(f"http://localhost:{self.server.server_port}/{page}")

    def test_opens_and_loads_nothing_from_elsewhere(self):
        self.open("index.html")
        self.assertIn("llmmem is a compiler for the memory of transformers", self.browser.page_source)
        self.assertEqual([], [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"])
        self.assertNotRegex("\n".join(entry["message"] for entry in self.browser.get_log("performance")), r'"url":"https?://(?!localhost)')

    def test_finds_what_is_searched(self):
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait
        self.open("index.html")
        box = self.browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
        self.browser.execute_script("arguments[0].focus()", box)
        box.send_keys("host-budget")
        found = WebDriverWait(self.browser, 60).until(
            lambda browser: browser.find_elements(By.CSS_SELECTOR, ".md-search-result__item"))
        self.assertGreater(len(found), 0)

    def test_leads_to_the_schemas(self):
        from selenium.webdriver.common.by import By
        self.open("Design/Reports.html")
        link = self.browser.find_element(By.LINK_TEXT, "device-table").get_attribute("href")
        with urllib.request.urlopen(link) as schema:
            self.assertEqual("device table", json.load(schema)["title"])

    def test_fits_a_phone(self):
        self.browser.set_window_size(*PHONE)
        for page in ("index.html", "Start.html", "Architecture.html", "CodesAndVariables.html", "Design/Reports.html"):
            with self.subTest(page):
                self.open(page)
                wide = self.browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
                self.assertLessEqual(wide, 0)


if __name__ == "__main__":
    unittest.main()
