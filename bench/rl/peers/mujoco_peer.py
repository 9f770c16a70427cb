#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps a second of a robot of MuJoCo in EnvPool and in Gymnasium's vector environments.

Prints {"name": "mujoco_NAME", "value": STEPS, "unit": "steps/s"}. Actions are random and drawn before. EnvPool is
driven from Python, and has v4 of the robots only.
"""

import argparse
import json
import os

import numpy
from vector_peer import measure

TITLES = {
    "inverted_pendulum": "InvertedPendulum", "inverted_double_pendulum": "InvertedDoublePendulum",
    "reacher": "Reacher", "swimmer": "Swimmer", "hopper": "Hopper", "half_cheetah": "HalfCheetah",
    "walker2d": "Walker2d", "ant": "Ant", "humanoid": "Humanoid"}


def random_actions(space, envs):
    random = numpy.random.default_rng(1)
    return random.uniform(space.low, space.high, (64, envs, *space.shape))


def envpool(title, envs, threads):
    import envpool
    pool = envpool.make(f"{title}-v4", env_type="gymnasium", num_envs=envs, num_threads=threads, seed=1)
    actions = random_actions(pool.action_space, envs)
    pool.reset()
    return pool, actions, f"EnvPool {envpool.__version__}"


def gymnasium(kind):
    def start(title, envs, _):
        import gymnasium
        import mujoco
        make = {"sync": gymnasium.vector.SyncVectorEnv, "async": gymnasium.vector.AsyncVectorEnv}
        vector = make[kind]([lambda: gymnasium.make(f"{title}-v5")] * envs)
        actions = random_actions(vector.single_action_space, envs).astype("f4")
        vector.reset(seed=1)
        return vector, actions, f"Gymnasium {gymnasium.__version__}, MuJoCo {mujoco.__version__}"
    return start


KINDS = {"envpool": envpool, "sync": gymnasium("sync"), "async": gymnasium("async")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", choices=TITLES)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="EnvPool's [default: one a core]")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    vector, actions, version = KINDS[options.kind](TITLES[options.name], options.envs, options.threads)

    def rounds_of(count):
        for index in range(count):
            vector.step(actions[index % 64])
        return count * options.envs

    value = measure(rounds_of, options.seconds)
    print(json.dumps({"version": version}))
    print(json.dumps({"name": f"mujoco_{options.name}", "value": value, "unit": "steps/s"}))
    vector.close()


if __name__ == "__main__":
    main()
