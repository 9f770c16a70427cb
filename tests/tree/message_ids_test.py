#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promise: each message of the library's actors has a type id. CAF 0.18 needs one; the default build, with
CAF 0.17, compiles without."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IDS = ROOT / "actors/fiber/detail/caf/type_ids.hpp"


def messages() -> set[str]:
    files = [file for layer in ("actors", "libfiber") for file in (ROOT / layer).rglob("*.[ch]pp")]
    text = "\n".join(file.read_text() for file in files)
    return set(re.findall(r"^FIBER_ACTOR_MESSAGE\((fiber::[\w:]+)\)", text, re.MULTILINE))


def ids() -> set[str]:
    return set(re.findall(r"^CAF_ADD_TYPE_ID\(fiber_actors, \((fiber::[\w:]+)\)\)", IDS.read_text(), re.MULTILINE))


class MessageIds(unittest.TestCase):
    def test_each_message_has_a_type_id(self):
        self.assertGreater(len(messages()), 50)
        self.assertEqual(messages() - ids(), set())

    def test_each_type_id_is_of_a_message(self):
        self.assertEqual(ids() - messages(), set())


if __name__ == "__main__":
    unittest.main()
