#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stable-Baselines3's PPO with the settings that its zoo publishes, until it reaches a return.

The policy is tried on 100 fresh episodes every N steps, without the noise of its actions. Time for
that does not count. Prints, for ENV of cartpole, pendulum, acrobot, lunar_lander,

  ppo_ENV_seconds  until a mean of --until was reached; none if it was not
  ppo_ENV_steps    the same in steps
  ppo_ENV_return   the last mean
"""

import argparse
import json
import os
import sys
import time

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # A policy this small is slower on a GPU.

import gymnasium  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402


def falling(value):
    return lambda left: left * value


# The zoo's numbers. Pendulum is without gSDE, whose noise no other PPO here has.
TASKS = {
    "cartpole": {
        "id": "CartPole-v1", "envs": 8, "steps": 100_000, "until": 475, "every": 5_000,
        "ppo": {"n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98,
                "n_epochs": 20, "ent_coef": 0.0, "learning_rate": falling(0.001),
                "clip_range": falling(0.2)}},
    "pendulum": {
        "id": "Pendulum-v1", "envs": 4, "steps": 100_000, "every": 20_000,
        "ppo": {"n_steps": 1024, "gae_lambda": 0.95, "gamma": 0.9, "n_epochs": 10,
                "ent_coef": 0.0, "learning_rate": 1e-3, "clip_range": 0.2}},
    "acrobot": {
        "id": "Acrobot-v1", "envs": 16, "steps": 1_000_000, "until": -100, "every": 20_000,
        "normalize": True,
        "ppo": {"n_steps": 256, "gae_lambda": 0.94, "gamma": 0.99, "n_epochs": 4,
                "ent_coef": 0.0}},
    "lunar_lander": {
        "id": "LunarLander-v3", "envs": 16, "steps": 1_000_000, "until": 200, "every": 50_000,
        "ppo": {"n_steps": 1024, "batch_size": 64, "gae_lambda": 0.98, "gamma": 0.999,
                "n_epochs": 4, "ent_coef": 0.01}},
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("env", choices=TASKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="at most [default: the zoo's]")
    parser.add_argument("--every", type=int, help="steps from one evaluation to the next")
    parser.add_argument("--until", type=float, help="stop at this mean return")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch [default: 1]")
    return parser.parse_args()


def environments(task, seed):
    made = make_vec_env(task["id"], n_envs=task["envs"], seed=seed)
    if task.get("normalize"):
        made = VecNormalize(made, gamma=task["ppo"]["gamma"])
    return made


def mean_return(model, task, seed):
    """Over 100 episodes that it has not trained on, 10 at a time."""
    fresh = make_vec_env(task["id"], n_envs=10, seed=seed)
    normalizer = model.get_vec_normalize_env()
    if normalizer is not None:
        fresh = VecNormalize(fresh, training=False, norm_reward=False)
        fresh.obs_rms = normalizer.obs_rms
    mean, _ = evaluate_policy(model, fresh, n_eval_episodes=100, deterministic=True, warn=False)
    fresh.close()
    return float(mean)


def train(options):
    """(seconds of training, steps, last mean return)"""
    task = TASKS[options.env]
    limit = options.steps or task["steps"]
    every = options.every or task["every"]
    until = task.get("until") if options.until is None else options.until
    start = time.perf_counter()
    model = PPO("MlpPolicy", environments(task, options.seed), seed=options.seed, device="cpu",
                **task["ppo"])
    outside, rounds, result = 0.0, 0, None

    class Watch(stable_baselines3.common.callbacks.BaseCallback):
        """Between two updates: the policy is tried when it has changed for `every` steps."""

        def _on_step(self):
            return result is None or not reached()

        def _on_rollout_start(self):
            nonlocal outside, rounds, result
            if self.num_timesteps >= (rounds + 1) * every:
                rounds = self.num_timesteps // every
                began = time.perf_counter()
                mean = mean_return(model, task, 1_000_000 + 1000 * options.seed + rounds)
                outside += time.perf_counter() - began
                result = (time.perf_counter() - start - outside, self.num_timesteps, mean)
                print(f"{self.num_timesteps} steps, {result[0]:.1f} s: mean return {mean:.1f}",
                      file=sys.stderr, flush=True)

    def reached():
        return until is not None and result[2] >= until

    model.learn(limit, callback=Watch())
    if result is None or not reached():
        seconds = time.perf_counter() - start - outside
        result = (seconds, model.num_timesteps, mean_return(model, task, 2_000_000 + options.seed))
    return result, reached()


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    (seconds, steps, mean), reached = train(options)
    print(json.dumps({"version": f"Stable-Baselines3 {stable_baselines3.__version__}, PyTorch "
                                 f"{torch.__version__}, Gymnasium {gymnasium.__version__}"}))
    row = f"ppo_{options.env}"
    if reached:
        print(json.dumps({"name": f"{row}_seconds", "value": seconds, "unit": "s"}))
        print(json.dumps({"name": f"{row}_steps", "value": steps, "unit": "steps"}))
    print(json.dumps({"name": f"{row}_return", "value": mean, "unit": "points"}))


if __name__ == "__main__":
    main()
