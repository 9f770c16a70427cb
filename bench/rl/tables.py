# SPDX-License-Identifier: Apache-2.0
"""What is measured, against whom, and the goals: the tables that run.py works through.

A program of this folder is named with its arguments; {seed} stands for 1, 2, ... from run to run. It
prints one JSON line a measurement: {"name": ROW, "value": NUMBER, "unit": UNIT},
and may print one that says what was measured: {"version": TEXT}. One that measures a peer as well
names it "ROW: PEER".
"""

from pathlib import Path

from rows import Goal, Row  # Of ../rows.py.

SOURCE = Path(__file__).resolve().parent

VEC_ENV = "fiber_vec_env.py"
PPO = "fiber_ppo.py"
MUJOCO = "fiber_mujoco.py"

# What those run, in the build folder.
BUILT = {VEC_ENV: "bench/vec_env_bench", PPO: "programs/ppo", MUJOCO: "bench/mujoco_bench"}

# Peers in the virtual environment of install.py: by label, which of its packages they need.
NEEDS = {
    "Gymnasium, sync": "Gymnasium",
    "Gymnasium, async": "Gymnasium",
    "EnvPool": "EnvPool",
    "EnvPool, async": "EnvPool",
    "EnvPool, MuJoCo": "EnvPool",
    "Gymnasium, MuJoCo, sync": "Gymnasium, MuJoCo",
    "Gymnasium, MuJoCo, async": "Gymnasium, MuJoCo",
    "SubprocVecEnv": "Stable-Baselines3",
    "Stable-Baselines3": "Stable-Baselines3",
}

# Returns count as reached if all runs but so many reach them: the run that decides is held against
# the goal.
MISSES_ALLOWED = {
    "ppo_cartpole_return": 0,
    "ppo_acrobot_return": 1,
    "ppo_lunar_lander_return": 1,
    "ppo_pendulum_return": 1,
}


def _vec_env(name, title, part, inside, peers=(), goals=()):
    """A row of vec_env_bench, which contains the peer `inside` and prints both in one run."""
    program = (VEC_ENV, part)
    return Row(name, title, "steps/s", ((inside, program), *peers), goals, program=program)


def _vector(label, kind):
    return (label, ("peers/vector_peer.py", kind))


def _sleepers(envs, factor, name="", goals=(Goal(">=", round(1 / 1.10, 3), "lock-step farm"),)):
    """Steps sleep as long as recorded ones of ALE/Breakout-v5, times a factor."""
    name = name or f"sleep_{envs}"
    times = ("--times", str(SOURCE / "ale_steps.txt"), "--factor", str(factor))
    program = (VEC_ENV, name, *times)
    peers = (("lock-step farm", program),)
    if envs in (8, 32, 256):
        peers += (("SubprocVecEnv", ("peers/subproc_peer.py", "--envs", str(envs), *times)),)
    title = f"{envs} environments, steps of {0.46 * factor:.2g} ms"
    return Row(name, title, "steps/s", peers, goals, program=program)


def _training(env, limit, rows):
    """Rows of one training: the peer and ours print all of them in one run."""
    ours = (PPO, env, "--seed", "{seed}", "--steps", str(limit))
    peers = ()
    if env in ("cartpole", "pendulum", "acrobot", "lunar_lander"):
        peers = (("Stable-Baselines3", ("peers/sb3_ppo.py", env, "--seed", "{seed}")),)
    for kind, (title, unit, goals) in rows.items():
        yield Row(f"ppo_{env}_{kind}", title, unit, peers, goals, program=ours)


def _robot(name):
    peers = tuple((label, ("peers/mujoco_peer.py", kind, name)) for label, kind in (
        ("EnvPool, MuJoCo", "envpool"), ("Gymnasium, MuJoCo, sync", "sync"),
        ("Gymnasium, MuJoCo, async", "async")))
    goals = (Goal(">=", 1.4 if name == "half_cheetah" else 1, "EnvPool, MuJoCo"),)
    if name == "hopper":
        goals += (Goal(">=", 1.8, "Gymnasium, MuJoCo, sync"),)
    return Row(f"mujoco_{name}", name, "steps/s", peers, goals, program=(MUJOCO, name))


TABLES = {
    "VecEnv: 64 CartPoles": (
        _vec_env("cartpole_64", "local jobs", "cartpole", "bare shared-memory farm",
                 (_vector("Gymnasium, sync", "sync"), _vector("Gymnasium, async", "async"),
                  _vector("EnvPool", "envpool_sync"), _vector("EnvPool, async", "envpool_async")),
                 (Goal(">=", 0.8, "bare shared-memory farm"),
                  Goal(">=", 5, "Gymnasium, async"))),
    ),
    "VecEnv: environments that take their time": (
        _vec_env("busy_50us_256", "256 environments of 50 us", "busy", "threads in one process",
                 goals=(Goal(">=", 0.8, "threads in one process"),)),
        _vec_env("one_slow_half", "one of 8 is 20 x slower, batch = half", "slow", "synchronous",
                 goals=(Goal(">=", 5, "synchronous"),)),
        *(_vec_env(f"waiting_1ms_64_tls_{jobs}", f"64 environments of 1 ms in {jobs} jobs, over TLS",
                   "tls", "local", goals=(Goal(">=", 0.9, "local"),)) for jobs in (8, 64)),
    ),
    # With its factor, the lock-step farm reaches 95 % of the steps that sleep alone would allow. The
    # last row has no factor: there the processes limit the steps.
    "VecEnv: environments that sleep as long as steps of Atari, a job each": (
        _sleepers(8, 4), _sleepers(32, 8), _sleepers(64, 16), _sleepers(128, 32), _sleepers(256, 64),
        _sleepers(256, 1, "sleep_256_unscaled", (Goal(">=", 2, "SubprocVecEnv"),))),
    "VecEnv: 16 robots of MuJoCo": tuple(map(_robot, (
        "inverted_pendulum", "inverted_double_pendulum", "reacher", "swimmer", "hopper", "half_cheetah",
        "walker2d", "ant", "humanoid"))),
    "PPO: CartPole-v1": tuple(_training("cartpole", 100_000, {
        "seconds": ("until a mean of 475", "s",
                    (Goal("<=", 60), Goal("<=", 0.2, "Stable-Baselines3"))),
        "steps": ("the same in steps", "steps", (Goal("<=", 500_000),)),
        "return": ("mean of 100 fresh episodes, the worst run", "points", (Goal(">=", 475),)),
    })),
    "PPO: other problems": (
        *_training("acrobot", 1_000_000, {"return": (
            "Acrobot-v1, the worst run but one", "points", (Goal(">=", -100),))}),
        *_training("pendulum", 1_000_000, {"return": (
            "Pendulum-v1, the worst run but one", "points",
            (Goal(">=", 1, "Stable-Baselines3"),))}),
        *_training("lunar_lander", 1_000_000, {"return": (
            "LunarLander, the worst run but one", "points", (Goal(">=", 200),))}),
    ),
}
