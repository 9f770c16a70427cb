# SPDX-License-Identifier: Apache-2.0
"""Small histories for the tests of the check."""

import json
import unittest

import check
from checker.operations import read


class Story:
    """Writes a history line by line; every line is one nanosecond later."""

    def __init__(self):
        self.events = []
        self.calls = {}

    def add(self, who, event, **rest):
        self.events.append({"t": len(self.events), "who": who, "event": event, **rest})

    def call(self, who, where, verb, value=None):
        self.calls[who] = self.calls.get(who, -1) + 1
        self.add(who, "call", op=self.calls[who], object=where, do=verb, value=value)

    def told(self, who, value=None, event="return"):
        self.add(who, event, op=self.calls[who], value=value)

    def whole(self, who, where, verb, value=None, answer=None):
        self.call(who, where, verb, value)
        self.told(who, answer)

    def born(self, *names, node=""):
        for who in names:
            self.add(who, "born", value={"node": node})

    def cut(self, *clients, deadly=0, **which):
        """By default so short that it may end clients as soon as it begins."""
        if clients:
            which["clients"] = list(clients)
        self.add("nemesis", "cut", value={"number": 1, "deadly": deadly, **which})

    def mend(self):
        self.add("nemesis", "mended", value=1)

    def outage(self, **value):
        self.add("nemesis", "outage", value={"number": 1, **value})

    def problems(self):
        return check.problems(read(json.dumps(event) for event in self.events))


class Checks(unittest.TestCase):
    def setUp(self):
        self.story = Story()

    def good(self):
        self.assertEqual(self.story.problems(), [])

    def bad(self, words):
        found = self.story.problems()
        self.assertTrue(any(words in problem for problem in found), found)
