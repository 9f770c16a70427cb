#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of histories accepts what can have happened, and finds each kind of broken promise."""

import unittest

import check
from checker.operations import read
from story import Checks


class Lines(Checks):
    def test_that_are_torn_are_told(self):
        self.assertIn("line 1 is no event", check.problems(read(['{"t": 1, "who']))[0])

    def test_of_an_unknown_kind_are_told(self):
        self.story.add("a", "dream")
        self.bad("unknown kind")

    def test_that_answer_what_nobody_asked(self):
        self.story.add("a", "return", op=7, value=1)
        self.bad("which it has not made")


class Tasks(Checks):
    def ask(self, number=3):
        self.story.call("driver", f"task {number}", "run", number)

    def run_of(self, word, number=3):
        self.story.add(word, "run", object=f"task {number}", value=word)

    def test_run_again_and_answered_once(self):
        self.ask()
        self.run_of("first")
        self.run_of("second")
        self.story.told("driver", {"run": "first", "value": 16})
        self.good()

    def test_answered_twice(self):
        self.ask()
        self.run_of("first")
        for _ in range(2):
            self.story.told("driver", {"run": "first", "value": 16})
        self.bad("answered twice")

    def test_never_answered(self):
        self.ask()
        self.bad("no answer")

    def test_that_failed(self):
        self.ask()
        self.story.told("driver", "lost", event="error")
        self.bad("an error (lost)")

    def test_with_a_wrong_result(self):
        self.ask()
        self.run_of("first")
        self.story.told("driver", {"run": "first", "value": 17})
        self.bad("the result is 17, not 16")

    def test_with_a_result_of_no_run(self):
        self.ask()
        self.story.told("driver", {"run": "invented", "value": 16})
        self.bad("no run of it")

    def test_answered_before_it_ran(self):
        self.ask()
        self.story.told("driver", {"run": "first", "value": 16})
        self.run_of("first")
        self.bad("before the run began")


class Queues(Checks):
    def put(self, *numbers):
        for number in numbers:
            self.story.whole("p", "queue q", "put", f"p:{number}")

    def get(self, who, number):
        self.story.whole(who, "queue q", "get", answer=None if number is None else f"p:{number}")

    def test_in_order(self):
        self.put(1, 2)
        self.get("a", 1)
        self.get("b", None)
        self.get("b", 2)
        self.good()

    def test_that_lose_an_item(self):
        self.put(1, 2)
        self.get("a", 1)
        self.bad("1 items were put and never got, and 0 clients died in get(): p:2")

    def test_whose_client_died_with_an_item(self):
        self.put(1, 2)
        self.story.call("a", "queue q", "get")
        self.story.add("nemesis", "kill", value="a")
        self.get("b", 2)
        self.good()

    def test_whose_client_died_with_one_item_but_two_are_gone(self):
        self.put(1, 2, 3)
        self.story.call("a", "queue q", "get")
        self.get("b", 3)
        self.bad("2 items were put and never got")

    def test_that_copy_an_item(self):
        self.put(1)
        self.get("a", 1)
        self.get("b", 1)
        self.bad("p:1 was got twice, by a and b")

    def test_that_invent_an_item(self):
        self.get("a", 1)
        self.bad("never put")

    def test_that_foresee_an_item(self):
        self.get("a", 1)
        self.put(1)
        self.bad("before it was put")

    def test_that_turn_the_order_round_for_a_client(self):
        self.put(1, 2)
        self.get("a", 2)
        self.get("a", 1)
        self.bad("a got p:1 after p:2")

    def test_that_turn_the_order_round_for_two_clients(self):
        self.put(1, 2)
        self.get("a", 2)
        self.get("b", 1)
        self.bad("b got p:1 after p:2 had been got")

    def test_that_give_the_item_of_a_dead_client_to_the_next_one(self):
        self.put(1, 2)
        self.story.call("b", "queue q", "get")
        self.get("a", 2)
        self.story.add("nemesis", "kill", value="b")
        self.get("a", 1)
        self.good()

    def test_that_blame_a_client_which_died_before_the_item_was_there(self):
        self.story.call("b", "queue q", "get")
        self.story.add("nemesis", "kill", value="b")
        self.story.add("driver", "end", value="b")
        self.put(1, 2)
        self.get("a", 2)
        self.get("a", 1)
        self.bad("a got p:1 after p:2")

    def test_of_clients_that_get_at_once(self):
        self.put(1, 2)
        self.story.call("b", "queue q", "get")
        self.get("a", 2)
        self.story.told("b", "p:1")
        self.good()

    def test_whose_put_has_no_answer(self):
        self.story.call("p", "queue q", "put", "p:1")
        self.good()
        self.get("a", 1)
        self.good()

    def test_whose_refused_item_is_there_all_the_same(self):
        self.story.whole("p", "queue q", "put", "p:1", False)
        self.good()
        self.get("a", 1)
        self.bad("never put")

    def test_that_fail(self):
        self.story.call("a", "queue q", "get")
        self.story.told("a", "Closed", event="error")
        self.bad("an error (Closed)")


class Consumers(Checks):
    """Clients that say which items they have finished."""

    def take(self, who, number, queue="bounded"):
        self.story.whole(who, f"queue {queue}", "get", answer=f"p:{number}")

    def finish(self, who, number, queue="bounded"):
        self.story.whole(who, f"queue {queue}", "done", f"p:{number}")

    def put(self, number, queue="bounded"):
        self.story.whole("p", f"queue {queue}", "put", f"p:{number}")

    def join(self, lost=0, queue="bounded", done=True):
        if lost > 0:
            self.story.whole("driver", f"queue {queue}", "join", answer={"done": False, "lost": lost})
        self.story.whole("driver", f"queue {queue}", "join", answer={"done": done, "lost": 0})

    def kill(self, who):
        self.story.born(who)
        self.story.add("nemesis", "kill", value=who)

    def test_that_finish_all(self):
        self.put(1)
        self.take("a", 1)
        self.finish("a", 1)
        self.join()
        self.good()

    def test_whose_lost_item_is_told(self):
        self.put(1)
        self.take("a", 1)
        self.kill("a")
        self.join(lost=1)
        self.good()

    def test_whose_lost_item_is_not_told(self):
        self.put(1)
        self.take("a", 1)
        self.kill("a")
        self.join()
        self.bad("join() told of 0 lost items; 1 were lost, and perhaps 0 more")

    def test_that_died_in_done(self):
        self.put(1)
        self.take("a", 1)
        self.story.call("a", "queue bounded", "done", "p:1")
        self.kill("a")
        for lost in (0, 1):
            self.join(lost)
            self.good()
            del self.story.events[-2 * (1 + lost):]
        self.join(lost=2)
        self.bad("join() told of 2 lost items")

    def test_that_wait_for_the_dead(self):
        self.put(1)
        self.take("a", 1)
        self.kill("a")
        self.join(lost=1, done=False)
        self.bad("join() waits")

    def test_whose_item_is_redelivered(self):
        for number in (1, 2):
            self.put(number, "redelivering")
        self.take("a", 1, "redelivering")
        self.kill("a")
        self.take("b", 2, "redelivering")
        self.finish("b", 2, "redelivering")
        self.take("b", 1, "redelivering")
        self.finish("b", 1, "redelivering")
        self.join(queue="redelivering")
        self.good()

    def test_whose_item_is_not_redelivered(self):
        self.put(1, "redelivering")
        self.take("a", 1, "redelivering")
        self.kill("a")
        self.bad("1 items were put and never finished: p:1")

    def test_whose_item_goes_down_with_a_get(self):
        self.put(1, "redelivering")
        self.story.call("a", "queue redelivering", "get")
        self.kill("a")
        self.bad("1 items were put and never finished: p:1")

    def test_whose_finished_item_is_redelivered(self):
        self.put(1, "redelivering")
        self.take("a", 1, "redelivering")
        self.finish("a", 1, "redelivering")
        self.kill("a")
        self.take("b", 1, "redelivering")
        self.finish("b", 1, "redelivering")
        self.bad("p:1 was got twice, by a and b")

    def test_of_whom_one_lives_and_another_one_gets_its_item(self):
        self.put(1, "redelivering")
        self.take("a", 1, "redelivering")
        self.take("b", 1, "redelivering")
        self.finish("b", 1, "redelivering")
        self.finish("a", 1, "redelivering")
        self.bad("p:1 was got twice, by a and b")

    def test_whose_items_a_queue_loses_that_redelivers(self):
        self.join(lost=1, queue="redelivering")
        self.bad("join() told of 1 lost items; 0 were lost")

    def test_that_are_cut_off_with_an_item(self):
        """The queue has not heard that the item was taken."""
        self.story.born("a", "b")
        self.put(1)
        self.story.cut("a")
        self.take("a", 1)
        self.story.call("a", "queue bounded", "done", "p:1")
        self.take("b", 1)
        self.finish("b", 1)
        self.join()
        self.good()


class Locks(Checks):
    def acquire(self, who, where="lock l", answer=True):
        self.story.whole(who, where, "acquire", answer=answer)

    def release(self, who, where="lock l"):
        self.story.whole(who, where, "release")

    def test_in_turn(self):
        self.acquire("a")
        self.acquire("b", answer=False)
        self.release("a")
        self.acquire("b")
        self.release("b")
        self.good()

    def test_held_by_two(self):
        self.acquire("a")
        self.acquire("b")
        self.release("a")
        self.bad("b had it at 3, while it was held by a")

    def test_of_a_killed_holder(self):
        self.acquire("a")
        self.story.add("nemesis", "kill", value="a")
        self.acquire("b")
        self.good()

    def test_taken_from_a_holder_before_it_was_killed(self):
        self.acquire("a")
        self.acquire("b")
        self.story.add("nemesis", "kill", value="a")
        self.bad("held by a")

    def test_of_a_holder_that_was_stalled_and_goes_on(self):
        self.acquire("a")
        self.story.add("nemesis", "stall", value="a")
        self.acquire("b")
        self.release("a")
        self.bad("held by a")

    def test_of_a_holder_that_is_killed_and_goes_on_for_a_moment(self):
        self.acquire("a")
        self.story.add("nemesis", "kill", value="a")
        self.acquire("b")
        self.release("a")
        self.good()

    def test_of_a_holder_that_is_killed_again_while_it_ends(self):
        self.acquire("a")
        self.story.add("nemesis", "kill", value="a")
        self.acquire("b")
        self.story.add("nemesis", "kill", value="a")
        self.good()

    def test_with_more_permits(self):
        for who in ("a", "b"):
            self.acquire(who, "lock s of 2")
        self.good()
        self.acquire("c", "lock s of 2")
        for who in ("a", "b", "c"):
            self.release(who, "lock s of 2")
        self.bad("c had it")


class Barriers(Checks):
    def wait(self, who, number=0):
        self.story.call(who, "barrier b of 2", "wait", number)

    def test_passed_together(self):
        for number in range(2):
            self.wait("a", number)
            self.wait("b", number)
            self.story.told("b", 1)
            self.story.told("a", 0)
        self.good()

    def test_passed_alone(self):
        self.wait("a")
        self.story.told("a", 0)
        self.wait("b")
        self.story.told("b", 1)
        self.bad("a party passed when 1 of 2 had come")

    def test_passed_by_half(self):
        self.wait("a")
        self.wait("b")
        self.story.told("a", 0)
        self.story.told("b", "broken", event="error")
        self.bad("while others passed")

    def test_passed_by_one_that_lives_and_one_that_died(self):
        self.wait("a")
        self.wait("b")
        self.story.told("a", 0)
        self.good()

    def test_that_break(self):
        self.wait("a")
        self.story.told("a", "broken", event="error")
        self.good()

    def test_with_a_place_for_two(self):
        self.wait("a")
        self.wait("b")
        self.story.told("a", 0)
        self.story.told("b", 0)
        self.bad("places")


class Values(Checks):
    def do(self, who, verb, asked=None, answer=None):
        self.story.whole(who, "value v", verb, asked, answer)

    def test_in_sequence(self):
        self.do("a", "get", answer=0)
        self.do("a", "set", 5)
        self.do("b", "add", 2, 5)
        self.do("b", "compare_and_set", [7, 9], True)
        self.do("a", "compare_and_set", [7, 1], False)
        self.do("a", "get", answer=9)
        self.good()

    def test_that_are_stale(self):
        self.do("a", "set", 5)
        self.do("b", "get", answer=0)
        self.bad("no order of the calls explains b's get() -> 0")

    def test_that_lose_an_addition(self):
        for _ in range(2):
            self.do("a", "add", 1, 0)
        self.bad("no order")

    def test_read_while_they_are_set(self):
        self.story.call("a", "value v", "set", 5)
        self.do("b", "get", answer=0)
        self.do("b", "get", answer=5)
        self.story.told("a")
        self.good()

    def test_that_go_back(self):
        self.story.call("a", "value v", "set", 5)
        self.do("b", "get", answer=5)
        self.do("b", "get", answer=0)
        self.story.told("a")
        self.bad("no order")

    def test_set_by_one_that_died(self):
        self.story.call("a", "value v", "set", 5)
        self.do("b", "get", answer=0)
        self.do("b", "get", answer=5)
        self.good()
        self.do("b", "get", answer=0)
        self.bad("no order")

    def test_of_many_clients_are_decided_soon(self):
        for number in range(300):
            for who in "abcd":
                self.story.call(who, "value v", "add", 1)
            for at, who in enumerate("dbca"):
                self.story.told(who, 4 * number + at)
        self.good()




if __name__ == "__main__":
    unittest.main()
