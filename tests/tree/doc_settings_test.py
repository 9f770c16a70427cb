#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The settings of a page are found wherever they stand, and a wrong one is named with its place."""

import tempfile
import unittest
from pathlib import Path

import doc_settings

# Knows one setting, which is "yes" or "no", and names the value of another.
FIBER = """#!/usr/bin/env python3
import json, os, pathlib
problems = []
value = os.environ.get("FIBER_LEASE", "yes")
file = pathlib.Path(".fiberconfig")
if file.exists():
    value = file.read_text().rpartition("=")[2].strip()
if value not in ("yes", "no"):
    problems = [f"lease '{value}': yes or no"]
keys = ("lease", "metrics")
print(json.dumps({"settings": [{"key": key, "variable": "FIBER_" + key.upper()} for key in keys],
                  "problems": problems, "unknown": []}))
"""
PAGE = """# A page
`FIBER_LEASE=maybe`, `lease = perhaps`, `FIBER_LEASE=no`.

    $ FIBER_LEASE='never' FIBER_LEESE=1 ./pi

```yaml
env:
  - {name: FIBER_LEASE, value: "often"}
  - name: FIBER_LEASE
    value: seldom
```

1. Text

   ```ini
   [default]
   lease = always
   ```
"""


class Settings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        fiber = Path(cls.folder.name) / "fiber"
        fiber.write_text(FIBER, encoding="utf-8")
        fiber.chmod(0o755)
        cls.parser = doc_settings.Parser(str(fiber))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def problems(self, text):
        return doc_settings.problems(doc_settings.settings_of("p.md", text, self.parser.keys), self.parser)

    def test_wrong_values_and_names_are_named_with_their_lines(self):
        self.assertEqual(sorted(self.problems(PAGE)), [
            "p.md:15: lease 'always': yes or no",
            "p.md:2: lease 'maybe': yes or no",
            "p.md:2: lease 'perhaps': yes or no",
            "p.md:4: FIBER_LEESE is no setting, and nothing in the tree reads it",
            "p.md:4: lease 'never': yes or no",
            "p.md:8: lease 'often': yes or no",
            "p.md:9: lease 'seldom': yes or no",
        ])

    def test_of_placeholders_only_the_name_is_checked(self):
        for value in ("HOST:PORT", "...", "N", "$(cmd --x)", "kill=P,seed=N", "<name>"):
            self.assertEqual(self.problems(f"`FIBER_LEASE={value}`"), [], value)
            self.assertEqual(len(self.problems(f"`FIBER_LEESE={value}`")), 1, value)

    def test_options_of_cmake_are_those_of_the_project(self):
        self.assertEqual(self.problems("`-DFIBER_RING=OFF`, `FIBER_BUILD_TESTS=ON`, `FIBER_METRICS=OFF`"), [])
        self.assertEqual(self.problems("`-DFIBER_RINGS=OFF`"), ["p.md:1: FIBER_RINGS is no option of CMake here"])

    def test_what_the_tree_reads_is_known(self):
        self.assertEqual(self.problems("`FIBER_NODE=zygote:FD`"), [])

    def test_what_is_wrong_on_purpose_is_left_out(self):
        self.assertEqual(self.problems("<!-- wrong on purpose: FIBER_LEESE -->\n`FIBER_LEESE=1`"), [])


if __name__ == "__main__":
    unittest.main()
