#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms include each other as docs/internals/architecture.md says, and the check sees where they do not."""

import tempfile
import unittest
from pathlib import Path

import check_rooms

PAGE = """# Architecture

## Rooms

| room | is for | includes |
|---|---|---|
| `base/` | vocabulary | |
| `wire/` | links | `base/` |
| `actors/pool/` | tasks | `base/`, `wire/` |

## More
"""


class CheckRooms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("docs/internals/architecture.md", PAGE)
        self.write("base/bytes.hpp", "")
        self.write("wire/link.hpp", '#include "base/bytes.hpp"\n')
        self.write("actors/pool/pool.hpp", '#include "base/bytes.hpp"\n#include "wire/link.hpp"\n')

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def test_the_project_is_as_its_page_says(self):
        self.assertEqual(check_rooms.problems(Path(__file__).resolve().parents[2]), [])

    def test_a_tree_like_its_table_passes(self):
        self.assertEqual(check_rooms.problems(self.root), [])

    def test_every_room_may_include_the_vocabulary(self):
        self.write("docs/internals/architecture.md", PAGE.replace("| `base/`", "| `base/fiber/` | values | |\n| `base/`", 1))
        self.write("base/fiber/value.hpp", "")
        self.write("wire/link.hpp", '#include "base/bytes.hpp"\n#include "fiber/value.hpp"\n')
        self.assertEqual(check_rooms.problems(self.root), [])

    def test_an_include_that_the_table_does_not_list_is_found_with_its_place(self):
        self.write("wire/link.hpp", '#include "base/bytes.hpp"\n#include "actors/pool/pool.hpp"\n')
        (problem,) = check_rooms.problems(self.root)
        self.assertIn("wire/link.hpp:2: wire/ must not include actors/pool/", problem)

    def test_a_room_without_a_row_is_found(self):
        self.write("actors/ring/ring.hpp", "")
        self.assertEqual(check_rooms.problems(self.root), ["docs/internals/architecture.md: no row for the room actors/ring/"])

    def test_a_row_without_a_room_is_found(self):
        (self.root / "wire/link.hpp").unlink()
        self.assertIn("docs/internals/architecture.md: there is no room wire/", check_rooms.problems(self.root))

    def test_a_listed_include_that_nothing_uses_is_found(self):
        self.write("actors/pool/pool.hpp", '#include "base/bytes.hpp"\n')
        self.assertEqual(
            check_rooms.problems(self.root), ["docs/internals/architecture.md: actors/pool/ does not include wire/"]
        )

    def test_a_circle_is_found(self):
        self.write("docs/internals/architecture.md", PAGE.replace("| vocabulary | |", "| vocabulary | `wire/` |"))
        self.write("base/bytes.hpp", '#include "wire/link.hpp"\n')
        self.assertIn(
            "docs/internals/architecture.md: wire/ must stand above base/, which includes it", check_rooms.problems(self.root)
        )

    def test_a_page_without_a_table_is_found(self):
        self.write("docs/internals/architecture.md", "# Architecture\n")
        self.assertEqual(
            check_rooms.problems(self.root), ["docs/internals/architecture.md has no table under the heading 'Rooms'"]
        )


if __name__ == "__main__":
    unittest.main()
