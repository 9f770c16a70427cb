#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of a page are found wherever they stand, and a wrong verb, option, value or file is named."""

import tempfile
import unittest
from pathlib import Path

import doc_options

# Both as CLI11 has them: --help wins over what is missing, not over a wrong value.
FIBER = """#!/usr/bin/env bash
case "$*" in
  --help) printf 'usage\\n  --version  Print\\n\\nSUBCOMMANDS:\\n  run        Start\\n  ps         List\\n' ;;
  'run --help') printf 'Start\\nOptions:\\n  -h,--help   Print\\n  --backend TEXT   Where\\n  --detach,!--attach  Not --wait\\n' ;;
  'run --help --backend moon') echo '--backend: moon not in {local}'; exit 106 ;;
  'run --help --backend') echo '--backend: 1 required TEXT missing'; exit 114 ;;
esac
"""
PROGRAM = """#!/usr/bin/env bash
printf '  -h,--help\\n  --workers INT\\n'
[[ $* != *many* ]] || { echo "--workers: not a number"; exit 1; }
"""
PAGE = """# A page

Text `fiber run --backend moon` and `fiber
walk`, as `A=b fiber run --bakend local -- ./es_train --worker 2`.

    $ fiber run --backend local --wait && ./dev tset
    --output

<!-- not run: why -->

    ./dev test --santize     # no --comment
    ./dev train es --workers \\
        many

```sh
tests/no/such/file --x
cmake --preset relaese
```

```cpp
fiber walk
```
"""


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        (Path(cls.folder.name) / "programs").mkdir()
        for name, text in (("fiber", FIBER), ("programs/es_train", PROGRAM)):
            path = Path(cls.folder.name) / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        cls.checker = doc_options.Checker(f"{cls.folder.name}/fiber", Path(cls.folder.name))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def problems(self, text):
        return [f"{line}: {problem}" for line, command in doc_options.commands_of(text)
                for problem in self.checker.problems(command)]

    def test_what_is_wrong_is_named_with_its_line(self):
        self.assertEqual(self.problems(PAGE), [
            "3: fiber run: --backend: moon not in {local}",
            "3: fiber: there is no verb walk",
            "4: fiber run: --help names no --bakend",
            "4: es_train: --help names no --worker",
            "6: fiber run: --help names no --wait",
            "6: ./dev tset: there is no such verb",
            "11: ./dev test: ./dev --help names no --santize",
            "12: es_train: " + "  -h,--help\n  --workers INT\n--workers: not a number".strip(),
            "16: tests/no/such/file: there is no such file",
            "17: cmake: there is no preset relaese",
        ])

    def test_what_is_right_passes(self):
        for command in ("fiber run --backend local --attach -- ./es_train --workers 2", "fiber --version", "fiber VERB --help",
                        "fiber run [option...] -- PROGRAM", "fiber run --backend", "fiber run --backend ...", "./dev --help",
                        "./dev test --clusters=all --filter '^(docker|x)'", "./dev check format layers", "./dev build release pi",
                        "./dev build dev --tests", "./dev run pi", "./dev install-deps build torch", "./dev bench --runs 3",
                        "./dev demo --workers 2", "build/release/programs/poet", "cmake --preset dev", "./train_es --env mine"):
            problems = self.checker.problems(command)
            self.assertEqual([problem for problem in problems if "--env" not in problem], [], command)

    def test_words_that_dev_does_not_know_are_named(self):
        for command, problem in (("./dev check fromat", "./dev check: there is no fromat"),
                                 ("./dev build realease", "./dev build: there is no realease"),
                                 ("./dev run hallo", "./dev run: there is no hallo"),
                                 ("./dev install-deps bild", "./dev install-deps: there is no bild"),
                                 ("./dev train pppo", "./dev train pppo: ./dev --help names no such program"),
                                 ("./dev bench --rnus 3", "./dev bench: ./dev --help names no --rnus"),
                                 ("gdb build/dev/tests/tree/pie", "build/dev/tests/tree/pie: no target of this name"),
                                 ("build/release/examples/pie", "build/release/examples/pie: no target of this name")):
            self.assertEqual(self.checker.problems(command), [problem])

    def test_what_is_wrong_on_purpose_is_left_out(self):
        self.assertEqual(self.problems("<!-- wrong on purpose: fiber walk -->\n`fiber walk`"), [])


if __name__ == "__main__":
    unittest.main()
