#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sb3-contrib's MaskablePPO on the knight's tour, with its default settings but for those below.

Prints, like sb3_ppo.py, after --steps steps:

  ppo_knights_tour_return   the mean return of 100 fresh episodes, with the most probable actions
  ppo_knights_tour_seconds  of training
  ppo_knights_tour_cpu      the processor time of the training

and on stderr a line with the same every --every steps. Time for evaluations does not count.
"""

import argparse
import json
import os
import sys
import time

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # A policy this small is slower on a GPU.

import gymnasium  # noqa: E402
import sb3_contrib  # noqa: E402
import torch  # noqa: E402
from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402

from knights_tour import KnightsTour  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--every", type=int, default=50_000, help="steps from one evaluation to the next")
    parser.add_argument("--until", type=float, default=1e9, help="stop at this mean return")
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--rollout", type=int, default=128)
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--constant", action="store_true", help="do not let the learning rate fall to 0")
    return parser.parse_args()


class Watch(BaseCallback):
    """Evaluates between two updates, and stops the clocks meanwhile."""

    def __init__(self, options):
        super().__init__()
        self.options, self.rounds, self.mean = options, 0, None
        self.seconds, self.cpu = -time.perf_counter(), -time.process_time()

    def _evaluate(self):
        self.seconds, self.cpu = self.seconds + time.perf_counter(), self.cpu + time.process_time()
        fresh = make_vec_env(KnightsTour, n_envs=10, seed=1_000_000 + self.options.seed + self.rounds)
        self.mean, _ = evaluate_policy(self.model, fresh, n_eval_episodes=100, deterministic=True, warn=False)
        print(f"{self.num_timesteps} steps, {self.seconds:.1f} s, {self.cpu:.1f} s of processors: "
              f"mean return {self.mean:.2f}", file=sys.stderr, flush=True)
        self.result = self.seconds, self.cpu
        self.seconds, self.cpu = self.seconds - time.perf_counter(), self.cpu - time.process_time()

    def _on_step(self):
        return self.mean is None or self.mean < self.options.until

    def _on_rollout_start(self):
        if self.num_timesteps >= (self.rounds + 1) * self.options.every:
            self.rounds = self.num_timesteps // self.options.every
            self._evaluate()

    def _on_training_end(self):
        self._evaluate()


def main():
    options = arguments()
    torch.set_num_threads(1)
    watch = Watch(options)
    rate = options.learning_rate
    model = MaskablePPO("MlpPolicy", make_vec_env(KnightsTour, n_envs=options.envs, seed=options.seed),
                        n_steps=options.rollout, batch_size=options.minibatch, n_epochs=options.epochs,
                        learning_rate=rate if options.constant else lambda left: left * rate,
                        seed=options.seed, device="cpu")
    model.learn(options.steps, callback=watch)
    print(json.dumps({"version": f"sb3-contrib {sb3_contrib.__version__}, PyTorch {torch.__version__}, "
                                 f"Gymnasium {gymnasium.__version__}"}))
    seconds, cpu = watch.result
    print(json.dumps({"name": "ppo_knights_tour_seconds", "value": seconds, "unit": "s"}))
    print(json.dumps({"name": "ppo_knights_tour_cpu", "value": cpu, "unit": "s"}))
    print(json.dumps({"name": "ppo_knights_tour_return", "value": float(watch.mean), "unit": "points"}))


if __name__ == "__main__":
    main()
