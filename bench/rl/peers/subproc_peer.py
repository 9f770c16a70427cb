#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stable-Baselines3's SubprocVecEnv with environments that sleep: a process and a pipe for each.

Prints {"name": "sleep_N", "value": STEPS, "unit": "steps/s"}. The durations of the steps are those
of a file, a number of seconds a line, each environment from another line on; or all the same.
"""

import argparse
import json
import time

import gymnasium
import numpy


class Sleeper(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, durations, first):
        self.durations, self.at = durations, first
        self.observation = numpy.zeros(4, numpy.float32)

    def reset(self, *, seed=None, options=None):
        return self.observation, {}

    def step(self, action):
        time.sleep(self.durations[self.at % len(self.durations)])
        self.at += 1
        return self.observation, 1.0, False, False, {}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--milliseconds", type=float, default=1, help="of each step")
    parser.add_argument("--times", metavar="FILE", help="seconds of the steps, in place of this")
    parser.add_argument("--factor", type=float, default=1, help="of the durations")
    parser.add_argument("--seconds", type=float, default=3)
    return parser.parse_args()


def main():
    options = arguments()
    durations = [options.milliseconds / 1000]
    if options.times:
        with open(options.times, encoding="utf-8") as lines:
            durations = [float(line) for line in lines if line.strip()]
    durations = [options.factor * duration for duration in durations]

    import stable_baselines3
    from stable_baselines3.common.vec_env import SubprocVecEnv
    stride = max(1, len(durations) // options.envs)
    vector = SubprocVecEnv([lambda first=index * stride: Sleeper(durations, first)
                            for index in range(options.envs)],
                           # Forked ones share the memory of PyTorch, 220 MB each.
                           start_method="fork")
    vector.reset()
    actions = numpy.zeros(options.envs, numpy.int64)
    vector.step(actions)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        vector.step(actions)
        steps += options.envs
    value = steps / (time.perf_counter() - start)
    vector.close()
    print(json.dumps({"version": f"Stable-Baselines3 {stable_baselines3.__version__}"}))
    print(json.dumps({"name": f"sleep_{options.envs}", "value": value, "unit": "steps/s"}))


if __name__ == "__main__":
    main()
