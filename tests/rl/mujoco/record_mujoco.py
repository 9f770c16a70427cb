#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Gymnasium's MuJoCo environments do, for the tests of ours.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install gymnasium==1.4.0 mujoco==3.3.7
    /tmp/venv/bin/python tests/rl/mujoco/record_mujoco.py tests/rl/mujoco/fixtures

NAME.txt       of v5, NAME_v4.txt of v4: some steps. A line "state" has positions, velocities
               and the solver's warm start; it is set before the step that follows. Steps
               without one follow the step before. A step is "action", "reward" with whether
               the episode ended, and "observation".
NAME.csv       Return and length of each of 300 episodes of random actions, of at most 200
               steps.

Actions are float32 numbers, given as float64, so that Gymnasium adds up their squares as
float64.
"""

import sys
from pathlib import Path

import gymnasium
import mujoco
import numpy

ENVIRONMENTS = {
    "inverted_pendulum": "InvertedPendulum",
    "inverted_double_pendulum": "InvertedDoublePendulum",
    "reacher": "Reacher",
    "swimmer": "Swimmer",
    "hopper": "Hopper",
    "half_cheetah": "HalfCheetah",
    "walker2d": "Walker2d",
    "ant": "Ant",
    "humanoid": "Humanoid",
}
SAME_IN_V4 = ("swimmer", "half_cheetah")
VERSIONS = f"# gymnasium {gymnasium.__version__}, mujoco {mujoco.__version__}\n"
EPISODES, LONGEST = 300, 200


def steps_of(env):
    """Fewer if an observation is large."""
    return 6 if env.observation_space.shape[0] > 300 else 16 if env.observation_space.shape[0] > 100 else 24


def line(key, values, digits=17):
    return " ".join([key] + [f"{float(v):.{digits}g}" for v in values]) + "\n"


def set_state(env, state):
    positions, velocities, warm_start = state
    mujoco.mj_resetData(env.model, env.data)
    env.set_state(positions, velocities)
    env.data.qacc_warmstart[:] = warm_start


def state_of(env):
    return env.data.qpos.copy(), env.data.qvel.copy(), env.data.qacc_warmstart.copy()


def random_action(env, random):
    space = env.action_space
    return random.uniform(space.low, space.high).astype("f4").astype("f8")


def visited(env, random, count):
    """States on the way of some episodes, and shortly after their ends."""
    states, rest = [], 0
    while len(states) < 20 * count:
        if rest == 0:
            env.reset(seed=int(random.integers(1 << 30)))
            rest = 60
        _, _, over, _, _ = env.step(random_action(env, random))
        rest = min(rest - 1, 3) if over else rest - 1
        states.append(state_of(env))
    chosen = sorted(random.choice(len(states), count, replace=False))
    return [states[i] for i in chosen]


def one_step(env, random):
    action = random_action(env, random)
    seen, reward, over, _, _ = env.step(action)
    return line("action", action, 9) + line("reward", [reward, over]) + line("observation", seen, 9)


def record_steps(env, path, count):
    random = numpy.random.default_rng(1)
    env.reset(seed=1)
    start = env.data.qpos.copy(), env.data.qvel.copy(), numpy.zeros(env.model.nv)
    text = VERSIONS
    states = visited(env, random, count)
    set_state(env, start)
    text += line("state", numpy.concatenate(start))
    for _ in range(count // 4):
        text += one_step(env, random)
    for state in states:
        set_state(env, state)
        text += line("state", numpy.concatenate(state)) + one_step(env, random)
    path.write_text(text)


def record_episodes(env, path):
    random = numpy.random.default_rng(2)
    rows = []
    for seed in range(EPISODES):
        env.reset(seed=seed)
        total, length, over = 0.0, 0, False
        while not over and length < LONGEST:
            _, reward, over, cut, _ = env.step(random_action(env, random))
            total, length, over = total + float(reward), length + 1, over or cut
        rows.append((total, length))
    path.write_text("return,length\n" + "".join(f"{r:.7g},{n}\n" for r, n in rows))
    returns, lengths = numpy.array(rows).T
    print(f"{path.name}: return {returns.mean():.2f} +- {returns.std():.2f}, length {lengths.mean():.1f}")


def main():
    folder = Path(sys.argv[1])
    print(VERSIONS, end="")
    for name, title in ENVIRONMENTS.items():
        env = gymnasium.make(f"{title}-v5").unwrapped
        record_steps(env, folder / f"{name}.txt", steps_of(env))
        record_episodes(gymnasium.make(f"{title}-v5"), folder / f"{name}.csv")
        if name not in SAME_IN_V4:
            env = gymnasium.make(f"{title}-v4").unwrapped
            record_steps(env, folder / f"{name}_v4.txt", steps_of(env) // 2)


if __name__ == "__main__":
    main()
