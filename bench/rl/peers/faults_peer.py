#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LunarLander whose steps sleep for ever, throw and kill their process, each once in 10,000 steps.

Trains with Stable-Baselines3's PPO on its SubprocVecEnv, or steps Gymnasium's AsyncVectorEnv with random actions.
Prints how many steps were made, and what stopped it. Who makes no step for 60 s is taken to hang.
"""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time

import gymnasium

STEPS_PER_FAULT = 10_000


class Faulty(gymnasium.Wrapper):
    """Draws its faults anew in each process."""

    def __init__(self, fault):
        super().__init__(gymnasium.make("LunarLander-v3"))
        self.fault = fault
        self.chance = random.SystemRandom()

    def step(self, action):
        drawn = self.chance.randrange(STEPS_PER_FAULT)
        faults = ("hang", "throw", "die") if self.fault == "all" else (self.fault,)
        fault = faults[drawn] if drawn < len(faults) else ""
        if fault == "hang":
            time.sleep(1e6)
        if fault == "throw":
            raise RuntimeError("the environment has failed")
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.env.step(action)


class Watch:
    """Counts steps, and ends the program when they stop."""

    def __init__(self, limit):
        self.steps, self.limit = 0, limit
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        before = -1
        while before != self.steps:
            before = self.steps
            time.sleep(self.limit)
        self.report(f"no step in {self.limit} s")

    def report(self, why):
        print(json.dumps({"name": "faults_steps", "value": self.steps, "unit": "steps"}), flush=True)
        print(why.strip().splitlines()[-1] if why.strip() else why, file=sys.stderr, flush=True)
        os.killpg(0, signal.SIGKILL)


def sb3(options, watch):
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import SubprocVecEnv

    class Count(BaseCallback):
        def _on_step(self):
            watch.steps = self.num_timesteps
            return True

    envs = SubprocVecEnv([lambda: Faulty(options.fault)] * options.envs)
    PPO("MlpPolicy", envs, n_steps=1024, batch_size=64, n_epochs=4, seed=options.seed).learn(
        options.steps, callback=Count())


def asynchronous(options, watch):
    envs = gymnasium.vector.AsyncVectorEnv([lambda: Faulty(options.fault)] * options.envs)
    envs.reset(seed=options.seed)
    while watch.steps < options.steps:
        envs.step(envs.action_space.sample())
        watch.steps += options.envs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("sb3", "async"))
    parser.add_argument("--fault", choices=("hang", "throw", "die", "all"), default="all")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60, help="seconds without a step [default: 60]")
    options = parser.parse_args()
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    watch = Watch(options.patience)
    try:
        {"sb3": sb3, "async": asynchronous}[options.kind](options, watch)
    except Exception as error:  # Whatever the peer throws is the result.
        watch.report(f"{type(error).__name__}: {error}")
    watch.report("all steps were made")


if __name__ == "__main__":
    main()
