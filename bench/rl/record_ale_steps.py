#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records how long steps of ALE/Breakout-v5 take: record_ale_steps.py [STEPS] > ale_steps.txt

Prints the seconds of each of 2,048 steps, one a line: four frames, the image made grey and 84 x 84,
random actions, resets left out. Run it with the Python of install.py, on a machine that does
nothing else.
"""

import sys
import time

import ale_py
import gymnasium


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    gymnasium.register_envs(ale_py)
    game = gymnasium.wrappers.AtariPreprocessing(
        gymnasium.make("ALE/Breakout-v5", frameskip=1), noop_max=30, frame_skip=4)
    game.action_space.seed(1)
    game.reset(seed=1)
    for step in range(-200, steps):  # The first ones warm up.
        action = game.action_space.sample()
        start = time.perf_counter()
        _, _, terminated, truncated, _ = game.step(action)
        if step >= 0:
            print(f"{time.perf_counter() - start:.6f}")
        if terminated or truncated:
            game.reset()


if __name__ == "__main__":
    main()
