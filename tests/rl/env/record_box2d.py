#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Gymnasium's Box2D environments do, for the tests of ours.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install 'gymnasium[box2d]'
    /tmp/venv/bin/python tests/rl/env/record_box2d.py tests/rl/env/fixtures/box2d

*_start.txt      Starts, with all random numbers that went into them, then what is seen
                 after some steps of a fixed sequence of actions.
*_terrain.csv    Of each of 1,000 terrains: the root mean square of the change of height
                 from point to point, the last height, the number of boxes, their area.
*_<policy>.csv   Return and length of each of 1,000 episodes under a policy that depends on
                 what it sees alone. The tests have the same policies.
"""

import copy
import itertools
import math
import sys
from pathlib import Path

import Box2D
import gymnasium
import numpy
from gymnasium.envs.box2d import bipedal_walker, lunar_lander
from gymnasium.utils import seeding

EPISODES = 1000
VERSIONS = (
    f"# gymnasium {gymnasium.__version__}, box2d {Box2D.__version__}, "
    f"numpy {numpy.__version__}\n"
)
SEEN_AFTER = (1, 2, 3, 4, 5, 10, 20)


def linear(phase):
    """Four sums of what is seen. The weights are any that lead to various episodes."""

    def scores(seen):
        return [
            sum(math.sin(3.0 * row + 1.7 * i + phase) * float(x) for i, x in enumerate(seen))
            for row in range(4)
        ]

    return scores


class LanderLinear:
    scores = staticmethod(linear(0.5))

    def __call__(self, seen):
        scores = self.scores(seen)
        return scores.index(max(scores))


class LanderHeuristic:
    def __init__(self):
        self.env = gymnasium.make("LunarLander-v3")

    def __call__(self, seen):
        return lunar_lander.heuristic(self.env, seen)


class WalkerLinear:
    scores = staticmethod(linear(4.5))

    def __call__(self, seen):
        return numpy.clip(self.scores(seen), -1, 1)


class WalkerHeuristic:
    def __init__(self):
        self.inner = bipedal_walker.BipedalWalkerHeuristics()
        self.inner.a = numpy.zeros(4)

    def __call__(self, seen):
        return self.inner.step_heuristic(seen).copy()


def record_episodes(folder, name, make, policy_class):
    rows = []
    for seed in range(EPISODES):
        # A walker that has been used before keeps its world, where bodies have other numbers
        # then; so contacts are solved in another order.
        env = make()
        policy = policy_class()
        seen, _ = env.reset(seed=seed)
        total, length, over = 0.0, 0, False
        while not over:
            seen, reward, terminated, truncated, _ = env.step(policy(seen))
            total += float(reward)
            length += 1
            over = terminated or truncated
        rows.append((total, length))
    (folder / f"{name}.csv").write_text(
        "return,length\n" + "".join(f"{r:.2f},{n}\n" for r, n in rows)
    )
    returns, lengths = numpy.array(rows).T
    print(
        f"{name}: return {returns.mean():.2f} +- {returns.std():.2f}, "
        f"length {lengths.mean():.1f}, longest {int(lengths.max())}",
        flush=True,
    )


def line(key, values):
    return " ".join([key] + [repr(float(v)) for v in values]) + "\n"


def follow(env, seen, act, steps):
    """What is seen at the start, after some steps, and at the end."""
    text, actions = line("seen 0", seen), []
    for step in range(1, steps + 1):
        actions.append(act(seen))
        seen, reward, over, _, _ = env.step(actions[-1])
        if step in SEEN_AFTER or step % 50 == 0 or over:
            text += line(f"seen {step}", seen) + line("reward", [reward])
        if over:
            break
    return text, actions


def record_lander(folder):
    text = ""
    for seed in (1, 2):
        env = gymnasium.make("LunarLander-v3").unwrapped
        seen, _ = env.reset(seed=seed)
        random, _ = seeding.np_random(seed)
        heights = random.uniform(0, 400 / 30 / 2, size=12)
        smooth = [0.33 * heights[[i - 1, i, i + 1]].sum() for i in (0, 10)]
        assert abs(env.sky_polys[0][0][1] - smooth[0]) < 1e-9  # The draws are Gymnasium's.
        assert abs(env.sky_polys[9][1][1] - smooth[1]) < 1e-9
        force = [random.uniform(-1000, 1000) for _ in range(2)]
        random.uniform(size=2)  # Of the step that is a part of reset().
        episode, actions = follow(env, seen, LanderHeuristic(), 1000)
        text += line("heights", heights) + line("force", force)
        text += line("noise", random.uniform(-1, 1, size=2 * len(actions)))
        text += line("actions", actions) + episode
    (folder / "lunar_lander_start.txt").write_text(VERSIONS + text)


def record_walker(folder, name, hardcore):
    text = ""
    for seed in (1, 2):
        env = bipedal_walker.BipedalWalker(hardcore=hardcore)
        clouds, push = env._generate_clouds, []

        def generate_clouds():
            clouds()
            push.append(copy.deepcopy(env.np_random).uniform(-5, 5))  # The next draw.

        env._generate_clouds = generate_clouds
        seen, _ = env.reset(seed=seed)
        text += line("heights", env.terrain_y) + line("push", push)
        for box in boxes(env):
            text += line("box", box)
        step = itertools.count()

        def act(_):
            i = next(step) // 4
            return numpy.array([(i * 7 + k * 5) % 9 / 4 - 1 for k in range(4)], "f4")

        text += follow(env, seen, act, 100)[0]
    (folder / f"{name}_start.txt").write_text(VERSIONS + text)


def boxes(env):
    """Left, bottom, right and top of each box of a walker's terrain, as it was built."""
    for body in reversed(env.terrain):
        shape = body.fixtures[0].shape
        if isinstance(shape, Box2D.b2PolygonShape):
            xs, ys = zip(*shape.vertices)
            yield min(xs), min(ys), max(xs), max(ys)


def record_terrains(folder, name, hardcore):
    env = bipedal_walker.BipedalWalker(hardcore=hardcore)
    text = "roughness,end,boxes,area\n"
    for seed in range(EPISODES):
        env.reset(seed=seed)
        change = numpy.diff(env.terrain_y)
        sizes = [(right - left) * (top - low) for left, low, right, top in boxes(env)]
        text += f"{(change**2).mean() ** 0.5:.4f},{env.terrain_y[-1]:.3f},"
        text += f"{len(sizes)},{sum(sizes):.2f}\n"
    (folder / f"{name}_terrain.csv").write_text(text)


def main():
    folder = Path(sys.argv[1])
    print(VERSIONS, end="", flush=True)
    record_lander(folder)
    record_walker(folder, "bipedal_walker", False)
    record_walker(folder, "bipedal_walker_hardcore", True)
    record_terrains(folder, "bipedal_walker", False)
    record_terrains(folder, "bipedal_walker_hardcore", True)

    def lander():
        return gymnasium.make("LunarLander-v3")

    def walker():
        return gymnasium.make("BipedalWalker-v3")

    def hardcore():
        return gymnasium.make("BipedalWalkerHardcore-v3")

    record_episodes(folder, "lunar_lander_linear", lander, LanderLinear)
    record_episodes(folder, "lunar_lander_heuristic", lander, LanderHeuristic)
    record_episodes(folder, "bipedal_walker_linear", walker, WalkerLinear)
    record_episodes(folder, "bipedal_walker_heuristic", walker, WalkerHeuristic)
    record_episodes(folder, "bipedal_walker_hardcore_linear", hardcore, WalkerLinear)


if __name__ == "__main__":
    main()
