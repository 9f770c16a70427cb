#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of histories allows what a partition or a restart of the engine can do, and no more. Faults hit the client
that the history names.
"""

import os
import subprocess
import time
import unittest
from pathlib import Path

from nemesis import Client, started
from story import Checks


class Queues(Checks):
    def put(self, *numbers):
        for number in numbers:
            self.story.whole("p", "queue q", "put", f"p:{number}")

    def get(self, who, number):
        self.story.whole(who, "queue q", "get", answer=None if number is None else f"p:{number}")

    def test_whose_client_was_cut_off_when_it_had_got_an_item(self):
        self.story.born("a", "b")
        self.put(1, 2)
        self.story.call("a", "queue q", "get")
        self.story.cut("a")
        self.story.told("a", "p:1")
        self.get("b", 2)
        self.get("b", 1)
        self.good()

    def test_whose_client_goes_on_after_a_cut(self):
        self.story.born("a", "b")
        self.put(1, 2)
        self.story.call("a", "queue q", "get")
        self.story.cut("a")
        self.story.told("a", "p:1")
        self.story.mend()
        self.get("a", None)
        self.get("b", 1)
        self.bad("p:1 was got twice, by a and b")

    def test_whose_client_got_an_item_before_a_cut(self):
        self.story.born("a", "b")
        self.put(1)
        self.get("a", 1)
        self.story.cut("a")
        self.get("b", 1)
        self.bad("p:1 was got twice, by a and b")

    def test_that_copy_an_item_while_another_client_is_cut_off(self):
        self.story.born("a", "b", "c")
        self.put(1)
        self.story.cut("c")
        self.get("a", 1)
        self.get("b", 1)
        self.bad("p:1 was got twice, by a and b")

    def put_in_a_cut(self, where):
        self.story.born("p")
        self.story.call("p", where, "put", "p:1")
        self.story.cut()
        self.story.told("p")

    def test_that_wait_for_no_answer_lose_the_last_item_of_a_client_that_was_cut_off(self):
        self.put_in_a_cut("queue open")
        self.good()

    def test_that_wait_for_no_answer_lose_another_item(self):
        self.put_in_a_cut("queue open")
        self.story.whole("p", "queue open", "put", "p:2")
        self.bad("1 items were put and never got, and 0 clients died in get(): p:1")

    def put_after_a_cut(self, deadly):
        self.story.born("p")
        self.story.cut("p", deadly=deadly)
        self.story.mend()
        self.story.whole("p", "queue open", "put", "p:1")

    def test_that_wait_for_no_answer_lose_the_item_of_a_client_that_goes_on_though_taken_for_dead(self):
        self.put_after_a_cut(deadly=1)
        self.good()

    def test_that_wait_for_no_answer_lose_an_item_after_a_short_cut(self):
        self.put_after_a_cut(deadly=2)
        self.bad("1 items were put and never got")

    def test_that_wait_for_an_answer_lose_an_item_in_a_cut(self):
        self.put_in_a_cut("queue bounded")
        self.bad("1 items were put and never got")


class Locks(Checks):
    def acquire(self, who, where="lock l", answer=True):
        self.story.whole(who, where, "acquire", answer=answer)

    def release(self, who, where="lock l"):
        self.story.whole(who, where, "release")

    def test_of_a_holder_that_is_cut_off_for_long(self):
        self.story.born("a", "b")
        self.acquire("a")
        self.story.cut("a")
        self.acquire("b")
        self.release("a")
        self.good()

    def test_of_a_holder_that_is_cut_off_for_a_moment(self):
        self.story.born("a", "b")
        self.acquire("a")
        self.story.cut("a", deadly=100)
        self.acquire("b")
        self.story.mend()
        self.release("a")
        self.bad("held by a")

    def test_of_a_client_that_hears_after_a_cut_that_it_got_it(self):
        self.story.born("a", "b")
        self.story.call("a", "lock l", "acquire")
        self.story.cut("a", deadly=1)
        self.acquire("b")
        self.story.mend()
        self.story.told("a", True)
        self.release("a")
        self.good()

    def test_taken_from_a_holder_too_soon_after_it_was_cut_off(self):
        self.story.born("a", "b")
        self.acquire("a")
        self.story.cut("a", deadly=3)
        self.acquire("b")
        self.release("a")
        self.bad("held by a")

    def test_held_by_two_after_a_cut(self):
        self.story.born("a", "b")
        self.story.cut()
        self.story.mend()
        self.acquire("a")
        self.acquire("b")
        self.release("a")
        self.bad("held by a")

    def test_of_a_holder_on_another_node_than_the_one_that_is_cut_off(self):
        self.story.born("a", node="one")
        self.acquire("a")
        self.story.cut(node="two")
        self.acquire("b")
        self.release("a")
        self.bad("held by a")

    def test_of_a_holder_that_a_restart_ends(self):
        self.story.born("a")
        self.acquire("a")
        self.story.add("nemesis", "restart", value=1)
        self.acquire("b")
        self.story.add("nemesis", "restarted", value=1)
        self.good()

    def test_of_a_holder_that_begins_after_a_restart(self):
        self.story.add("nemesis", "restart", value=1)
        self.story.add("nemesis", "restarted", value=1)
        self.story.born("a")
        self.acquire("a")
        self.acquire("b")
        self.release("a")
        self.bad("held by a")

    def test_of_a_holder_in_an_outage(self):
        self.story.born("a")
        self.acquire("a")
        self.story.outage()
        self.acquire("b")
        self.release("a")
        self.bad("held by a")


class Values(Checks):
    def fail_of(self, manager):
        self.story.born(manager)
        self.story.call("a", f"value v of {manager}", "set", 5)
        self.story.cut(manager)
        self.story.told("a", "lost", event="error")

    def test_that_are_lost_with_their_manager(self):
        self.fail_of("m")
        self.story.whole("b", "value v of other", "get", answer=0)
        self.good()

    def test_that_fail_before_their_manager_may_be_lost(self):
        self.story.born("m")
        self.story.call("a", "value v of m", "set", 5)
        self.story.told("a", "lost", event="error")
        self.story.cut("m")
        self.bad("an error (lost)")

    def test_that_fail_when_another_manager_is_lost(self):
        self.fail_of("m")
        self.story.call("b", "value v of other", "get")
        self.story.told("b", "lost", event="error")
        self.bad("value v of other: b's get() -> an error (lost)")


class Clients(Checks):
    def end(self):
        self.story.add("driver", "end", value="a")

    def test_that_end_when_they_are_told(self):
        self.story.born("a")
        self.story.add("driver", "stop")
        self.end()
        self.good()

    def test_that_end_untold(self):
        self.story.born("a")
        self.end()
        self.story.add("driver", "stop")
        self.bad("a was lost at 1")

    def test_that_are_killed(self):
        self.story.born("a")
        self.story.add("driver", "kill", value="a")
        self.end()
        self.good()

    def test_that_are_cut_off_for_long(self):
        self.story.born("a")
        self.story.cut("a", deadly=1)
        self.end()
        self.story.mend()
        self.good()

    def test_that_are_cut_off_for_a_moment(self):
        self.story.born("a")
        self.story.cut("a", deadly=3)
        self.story.mend()
        self.end()
        self.bad("a was lost")

    def test_that_a_restart_on_another_node_ends(self):
        self.story.born("a", node="n1")
        self.story.add("nemesis", "restart", value=1, node="n2")
        self.end()
        self.story.add("nemesis", "restarted", value=1)
        self.bad("a was lost")

    def test_that_a_restart_on_its_node_ends(self):
        self.story.born("a", node="n1")
        self.story.add("nemesis", "restart", value=1, node="n1")
        self.end()
        self.story.add("nemesis", "restarted", value=1)
        self.good()

    def test_that_a_restart_ends(self):
        self.story.born("a")
        self.story.add("nemesis", "restart", value=1)
        self.end()
        self.story.add("nemesis", "restarted", value=1)
        self.good()

    def test_that_end_in_an_outage_so_long_that_a_node_is_given_up(self):
        self.story.born("a")
        self.story.outage(deadly=1)
        self.end()
        self.story.add("nemesis", "recovered", value=1)
        self.good()

    def test_that_end_in_an_outage(self):
        self.story.born("a")
        self.story.outage()
        self.end()
        self.bad("a was lost")


class Victims(unittest.TestCase):
    """Whether a client of a history is found as this process."""

    def client(self, born):
        return Client("a", {"space": os.readlink("/proc/self/ns/pid"), "pid": os.getpid(), "node": ""}, born)

    def test_a_client_is_found(self):
        self.assertEqual(self.client(time.monotonic_ns()).host_pid(), os.getpid())

    def test_a_client_that_is_older_than_the_process_with_its_numbers_is_not_found(self):
        self.assertIsNone(self.client(0).host_pid())

    def test_the_start_of_a_process_is_a_time_of_the_history(self):
        before = time.monotonic_ns()
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            start = started(Path(f"/proc/{child.pid}"))
            self.assertLess(before - 1_000_000_000, start)
            self.assertLess(start, time.monotonic_ns())


if __name__ == "__main__":
    unittest.main()
