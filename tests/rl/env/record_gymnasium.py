#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records trajectories of Gymnasium's classic control environments.

gymnasium_test.cpp reads them and expects the same of fiber::rl. Run it by hand, in a virtual environment, when
Gymnasium changes an environment:

    python3 -m venv /tmp/gymnasium && /tmp/gymnasium/bin/pip install gymnasium
    /tmp/gymnasium/bin/python tests/rl/env/record_gymnasium.py tests/rl/env/fixtures

A file has a line of comment that names the versions, a line `limit,N` with the limit of steps, a line with the names
of the columns, and then rows:

    start,STATE...                                   the state that a trajectory starts from
    step,ACTION,REWARD,TERMINATED,STATE...,OBSERVATION...   one step, and what it led to

Numbers are written so that reading gives the same bits: states and rewards are float64, except MountainCarContinuous's
float32 states; actions and observations are float32.
"""

import math
import sys
from pathlib import Path

import gymnasium
import numpy as np

rng = np.random.default_rng(7)


def random_discrete(count):
    return lambda state, step: int(rng.integers(count))


def random_continuous(bound):
    """Actions of which some are out of bounds."""
    return lambda state, step: np.float32(rng.uniform(-1.4, 1.4) * bound)


def balance(state, step):
    return int(state[2] + 0.5 * state[3] > 0)


def swing_links(state, step):
    return 2 if state[2] < 0 else 0


def swing_up(state, step):
    """Adds energy until the pendulum is near the top."""
    angle = (state[0] + math.pi) % (2 * math.pi) - math.pi
    return np.float32(-12 * angle - 3 * state[1] if abs(angle) < 0.4 else 2 * np.sign(state[1]))


def rock(state, step):
    return np.float32(1 if state[1] >= 0 else -1)


def rock_gently(state, step):
    return np.float32(0.7 if state[1] >= 0 else -0.7)


# Name of the file; Gymnasium's name; dtype of the state; trajectories of start state, policy, most steps.
ENVIRONMENTS = [
    ("cartpole", "CartPole-v1", np.float64, [
        ([0.01, -0.02, 0.03, -0.04], random_discrete(2), 100),
        ([-0.04, 0.03, -0.02, 0.01], balance, 100),
        ([2.3, 1.5, 0.05, 0.0], random_discrete(2), 100),
        ([0.0, 0.0, 0.2094, 0.001], random_discrete(2), 5),  # Just within the limits; then just beyond.
        ([0.0, 0.0, -0.2094, -0.003], random_discrete(2), 5),
        ([-2.3999, 0.0, 0.0, 0.0], random_discrete(2), 5),
        ([-2.3999, -0.01, 0.0, 0.0], random_discrete(2), 5),
    ]),
    ("pendulum", "Pendulum-v1", np.float64, [
        ([3.0, 0.5], random_continuous(2), 60),
        ([math.pi, -1.0], swing_up, 120),
        ([-15.0, 7.9], random_continuous(2), 30),
    ]),
    ("acrobot", "Acrobot-v1", np.float64, [
        ([0.05, -0.1, 0.02, 0.07], random_discrete(3), 60),
        ([-0.09, 0.03, 0.01, -0.02], swing_links, 200),
        ([-1.0, 3.0, 12.0, -28.0], random_discrete(3), 20),
        ([3.1, 0.1, -12.5, 28.2], random_discrete(3), 20),
    ]),
    ("mountain_car_continuous", "MountainCarContinuous-v0", np.float32, [
        ([-0.5, 0.0], random_continuous(1), 100),
        ([-0.45, 0.0], rock, 300),
        ([-0.55, 0.01], rock_gently, 300),
        ([-1.1, -0.07], random_continuous(1), 30),
        ([0.3, 0.07], random_continuous(1), 30),
    ]),
]


def number(value):
    """The shortest text that gives the value's bits again."""
    return str(value) if isinstance(value, np.float32) else repr(float(value))


def numbers(values):
    return ",".join(number(value) for value in values)


def record(env, dtype, start, policy, steps):
    env.reset(seed=1)
    env.state = np.array(start, dtype=dtype)
    env.steps_beyond_terminated = None
    yield f"start,{numbers(env.state)}"
    for step in range(steps):
        action = policy(env.state, step)
        discrete = isinstance(action, int)
        observation, reward, terminated, _, _ = env.step(action if discrete else np.array([action], dtype=np.float32))
        values = [str(action), number(np.float64(reward)), str(int(terminated)), numbers(env.state), numbers(observation)]
        yield "step," + ",".join(values)
        if terminated:
            break


def main():
    folder = Path(sys.argv[1])
    print(f"Gymnasium {gymnasium.__version__}, numpy {np.__version__}")
    for name, identifier, dtype, trajectories in ENVIRONMENTS:
        env = gymnasium.make(identifier)
        lines = [f"# {identifier} of Gymnasium {gymnasium.__version__}, numpy {np.__version__}"]
        lines.append(f"limit,{env.spec.max_episode_steps}")
        lines.append("step,action,reward,terminated,state...,observation...")
        for start, policy, steps in trajectories:
            lines.extend(record(env.unwrapped, dtype, start, policy, steps))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
