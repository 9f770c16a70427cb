# SPDX-License-Identifier: Apache-2.0
"""What GymEnv uses of Gymnasium, with environments that tell what they were given."""

import array
import sys
import types


class Array(array.array):
    """A row of numbers as NumPy has it, in all that GymEnv does with one."""

    def copy(self):
        return Array(self.typecode, self)

    def __add__(self, other):
        return Array(self.typecode, (a + b for a, b in zip(self, other, strict=True)))


class Discrete:
    def __init__(self, n, start=0):
        self.n, self.start = n, start


class Box:
    def __init__(self, low, high, shape, typecode="f"):
        count = 1
        for extent in shape:
            count *= extent
        self.low = Array(typecode, [low] * count)
        self.high = Array(typecode, [high] * count)
        self.shape = shape


class Dict:
    """Sorts its keys, as Gymnasium's does."""

    def __init__(self, spaces):
        self.spaces = dict(sorted(spaces.items()))

    def __repr__(self):
        return f"Dict({', '.join(self.spaces)})"


class MultiDiscrete:
    def __init__(self, nvec, start):
        self.nvec, self.start = Array("l", nvec), Array("l", start)
        self.shape = (len(nvec),)


class MultiBinary:
    def __repr__(self):
        return "MultiBinary(3)"


spaces = types.SimpleNamespace(Discrete=Discrete, Box=Box, Dict=Dict, MultiDiscrete=MultiDiscrete)


class Count:
    """Shows the seed, the steps of the episode and the last action, whose reward is 10 each."""

    observation_space = Box(0, 1e9, (3,))
    action_space = Discrete(3)

    def __init__(self, limit=5, truncated_at=3, name="", fast=None):
        self.limit, self.truncated_at = limit, truncated_at
        if name not in ("", "a name") or fast not in (None, False):
            raise TypeError(f"name={name!r} fast={fast!r}")

    def shown(self, action):
        return Array("f", [self.seed, self.steps, action])

    def reset(self, seed=None):
        self.seed, self.steps = seed, 0
        return self.shown(-1), {}

    def step(self, action):
        if type(action) is not int:
            raise TypeError(f"action {action!r}")
        self.steps += 1
        return (self.shown(action), 10 * action, self.steps == self.limit,
                self.steps == self.truncated_at, {"info": None})

    def close(self):
        print("closed", file=sys.stderr)


class Move:
    """Shows the action of before and the last one, in float64."""

    observation_space = Box(-9, 9, (2, 2), "d")
    action_space = Box(-2, 3, (2,), "d")

    def __init__(self):
        self.last = self.action_space.low

    def reset(self, seed):
        return Array("d", [0] * 4), {}

    def step(self, action):
        if action.typecode != "d":
            raise TypeError(action.typecode)
        before, self.last = self.last, action
        return Array("d", [*before, *action]), 0.5, False, False, {}

    def close(self):
        raise RuntimeError("which nobody hears")


class Picture(bytes):
    shape = (1, 2, 3)


class Image(Move):
    """Shows bytes with gaps between them."""

    observation_space = Box(0, 255, (3,), "B")

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        return Picture([1, 2, 3, 253, 254, 255])

    def reset(self, seed):
        return memoryview(bytes([250, 1, 251, 2, 252, 3]))[::2], {}


class Game(Count):
    """A game of Atari with a screen of three bytes."""

    observation_space = Box(0, 255, (3,), "B")

    def __init__(self, frameskip):
        super().__init__()
        if frameskip != 1:  # The wrapper skips frames.
            raise ValueError(frameskip)

    def shown(self, action):
        return bytes([0, 51, 255])

    def get_action_meanings(self):
        return ["NOOP", "FIRE", "LEFT"]


class Grid(Count):
    observation_space = Discrete(4, start=2)
    action_space = Discrete(2, start=-1)

    def shown(self, action):
        return 3 + action


class Goal(Count):
    """Shows its parts in another order than its space has them."""

    observation_space = Dict({
        "room": Discrete(3, start=1),
        "body": Dict({"speed": Box(-1, 1, (2,)), "place": Box(-9, 9, (1, 2), "d")}),
        "goal": Box(-9, 9, (1,))})

    def shown(self, action):
        return {"goal": Array("f", [self.seed]), "room": 2 + self.steps % 2,
                "body": {"place": Array("d", [self.steps, action]), "speed": Array("f", [0.5, 1])}}


class Aimless(Goal):
    def shown(self, action):
        return {"body": {}}


class Mixed(Count):
    observation_space = Dict({"a": MultiBinary()})


class Raises(Count):
    def step(self, action):
        self.fall()

    def fall(self):
        raise ValueError("the cart has left the table")


class Old(Count):
    def step(self, action):
        return self.shown(action), 0.0, True, {}


class Wide(Count):
    def shown(self, action):
        return Array("f", [1] * 7)


class Many(Count):
    action_space = MultiBinary()


class Wheels(Count):
    """Shows the number of steps and the last action. The first wheel can't be where it was."""

    action_space = MultiDiscrete([3, 2], [0, 5])

    def shown(self, action):
        self.last = [0, 5] if action == -1 else list(action)
        return Array("f", [self.steps, *self.last])

    def step(self, action):
        if action.typecode != "l":
            raise TypeError(action.typecode)
        self.steps += 1
        return self.shown(action), 1.0, False, False, {}

    def action_masks(self):
        return Array("b", [choice != self.last[0] for choice in range(3)] + [True, True])


class BadMask(Count):
    def action_masks(self):
        return [True]


class Most(Count):
    action_space = Discrete(2**24)

    def shown(self, action):
        return Array("f", [self.seed, action >> 12, action & 0xfff])


class TooMany(Count):
    action_space = Discrete(2**40)


REGISTRY = {f"{kind.__name__}-v0": kind for kind in (Count, Move, Image, Grid, Goal, Aimless, Mixed, Raises, Old, Wide,
                                                     Many, Wheels, BadMask, Most, TooMany)}
REGISTRY["ALE/Game-v5"] = Game


def make(id, **arguments):
    return REGISTRY[id](**arguments)
