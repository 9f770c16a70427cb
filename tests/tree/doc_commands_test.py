#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of a page are found, run and compared with what the page shows, and none is forgotten."""

import tempfile
import unittest
from pathlib import Path

import doc_commands

PAGE = """# A page

<!-- run -->

    $ echo 12 apples
    34 apples
    $ true && printf 'a\\nb\\n'
    ...
    b

Text.

    no command

<!-- not run: needs a cluster -->

    kubectl get pods
"""


class Commands(unittest.TestCase):
    def blocks(self, text=PAGE):
        return doc_commands.commands_of("docs/page.md", text)

    def ran(self, text):
        with tempfile.TemporaryDirectory() as folder:
            return doc_commands.run(self.blocks(text)[0], Path(folder))

    def test_the_commands_of_the_project_are_run_or_marked(self):
        for page in doc_commands.pages():
            text = (doc_commands.ROOT / page).read_text(encoding="utf-8")
            self.assertEqual(doc_commands.problems(text, doc_commands.commands_of(page, text)), [])

    def test_blocks_of_commands_are_found_with_their_marks(self):
        self.assertEqual([(block.line, block.mark) for block in self.blocks()], [(5, "run"), (17, "not run")])

    def test_commands_that_print_what_the_page_shows_pass(self):
        self.assertEqual(self.ran(PAGE), [])

    def test_other_output_is_found(self):
        (problem,) = self.ran(PAGE.replace("34 apples", "34 pears"))
        self.assertIn("docs/page.md:5: echo 12 apples: the page shows other output", problem)

    def test_a_command_that_fails_is_found(self):
        (problem,) = self.ran(PAGE.replace("$ true", "$ false"))
        self.assertIn("exit code 1", problem)

    def test_a_block_without_a_mark_is_found(self):
        text = PAGE.replace("<!-- run -->", "")
        (problem,) = doc_commands.problems(text, self.blocks(text))
        self.assertIn("docs/page.md:5: these commands are neither run nor marked", problem)

    def test_a_mark_of_the_page_covers_all_its_blocks(self):
        text = PAGE.replace("# A page", "# A page\n\n<!-- commands not run: why -->").replace("<!-- run -->", "")
        self.assertEqual(doc_commands.problems(text, self.blocks(text)), [])

    def test_a_block_that_is_left_out_needs_a_reason(self):
        text = PAGE.replace("not run: needs a cluster", "not run")
        (problem,) = doc_commands.problems(text, self.blocks(text))
        self.assertIn("docs/page.md:17: 'not run' needs a reason", problem)


if __name__ == "__main__":
    unittest.main()
