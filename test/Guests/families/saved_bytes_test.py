"""PyTorch saves of a block of each family what docs/Design/SavedBytes.md says."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


class SavedBytesTest(unittest.TestCase):
    def check(self, page, *names):
        return subprocess.run([sys.executable, os.path.join(ROOT, "utils", "saved-bytes.py"), "--torch", page, *names],
                              capture_output=True, text=True)

    def test_page(self):
        result = self.check(os.path.join(ROOT, "docs", "Design", "SavedBytes.md"))
        self.assertEqual((result.returncode, result.stdout), (0, "56 families save what the page says\n"), result.stderr)

    def test_another_number_is_found(self):
        page = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "page.md")
        with open(os.path.join(ROOT, "docs", "Design", "SavedBytes.md")) as text, open(page, "w") as changed:
            changed.write(text.read().replace("| `vit` | PyTorch | 15,360 | 2,560", "| `vit` | PyTorch | 15,361 | 2,561"))
        result = self.check(page, "vit")
        self.assertEqual(result.returncode, 1)
        self.assertIn("vit: PyTorch saves", result.stdout)


if __name__ == "__main__":
    unittest.main()
