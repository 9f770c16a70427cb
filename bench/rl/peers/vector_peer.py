#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps a second of many CartPoles in Gymnasium's vector environments and in EnvPool.

Prints {"name": "cartpole_64", "value": STEPS, "unit": "steps/s"}. Actions are random and drawn
before. A step that only resets an environment counts, as all of these count it.
"""

import argparse
import json
import os
import time

import numpy


def measure(rounds_of, seconds):
    """Steps a second of rounds_of(count), which runs `count` rounds and returns their steps."""
    rounds_of(20)  # All are up.
    steps, rounds, start = 0, 20, time.perf_counter()
    while time.perf_counter() - start < seconds:
        steps += rounds_of(rounds)
    return steps / (time.perf_counter() - start)


def gymnasium_vector(kind):
    def start(envs, _):
        import gymnasium
        make = {"sync": gymnasium.vector.SyncVectorEnv, "async": gymnasium.vector.AsyncVectorEnv}
        vector = make[kind]([lambda: gymnasium.make("CartPole-v1")] * envs)
        vector.reset(seed=1)
        actions = numpy.random.default_rng(1).integers(0, 2, (64, envs))

        def rounds_of(count):
            for index in range(count):
                vector.step(actions[index % 64])
            return count * envs
        return rounds_of, vector.close, f"Gymnasium {gymnasium.__version__}"
    return start


def envpool_sync(envs, threads):
    import envpool
    pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=envs, num_threads=threads,
                        seed=1)
    pool.reset()
    actions = numpy.random.default_rng(1).integers(0, 2, (64, envs), dtype=numpy.int32)

    def rounds_of(count):
        for index in range(count):
            pool.step(actions[index % 64])
        return count * envs
    return rounds_of, pool.close, f"EnvPool {envpool.__version__}"


def envpool_async(envs, threads):
    import envpool
    batch = envs // 2
    pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=envs, batch_size=batch,
                        num_threads=threads, seed=1)
    pool.async_reset()
    actions = numpy.random.default_rng(1).integers(0, 2, (64, batch), dtype=numpy.int32)

    def rounds_of(count):
        for index in range(count):
            ids = pool.recv()[-1]["env_id"]
            pool.send(actions[index % 64], ids)
        return count * batch
    return rounds_of, pool.close, f"EnvPool {envpool.__version__}"


KINDS = {"sync": gymnasium_vector("sync"), "async": gymnasium_vector("async"),
         "envpool_sync": envpool_sync, "envpool_async": envpool_async}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="EnvPool's [default: one a core]")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    rounds_of, close, version = KINDS[options.kind](options.envs, options.threads)
    value = measure(rounds_of, options.seconds)
    print(json.dumps({"version": version}))
    print(json.dumps({"name": f"cartpole_{options.envs}", "value": value, "unit": "steps/s"}))
    close()


if __name__ == "__main__":
    main()
