# SPDX-License-Identifier: Apache-2.0
"""The pages of the reference: one a theme, with the public headers that it shows."""

from pathlib import Path

from group_header import group_of

ROOTS = ("base/fiber", "libfiber/fiber", "rl/fiber")

# File name: title, what the page is about, headers below ROOTS in the order of reading.
PAGES = {
    "session": ("Session and settings", "The beginning of a program, and what it can set.",
                ["fiber/session.hpp", "fiber/config.hpp", "fiber/main_guard.hpp"]),
    "pool": ("Pools", "Workers that run tasks, and what a task can ask about itself.",
             ["fiber/pool.hpp", "fiber/pool_stats.hpp", "fiber/this_task.hpp"]),
    "future": ("Futures and results", "Results, now or later.", ["fiber/future.hpp", "fiber/as_completed.hpp"]),
    "callable": ("Callables and values", "Functions that run elsewhere, and what can travel.",
                 ["fiber/callable.hpp", "fiber/value.hpp", "fiber/byte_stream.hpp", "fiber/bytes.hpp"]),
    "share": ("Shared values", "Large values that are sent once.", ["fiber/share.hpp"]),
    "error": ("Errors", "Everything that Fiber throws.", ["fiber/error.hpp", "fiber/remote_error.hpp"]),
    "process": ("Processes", "A function in a process of its own.", ["fiber/process.hpp"]),
    "queue": ("Queues and pipes", "Items from any process to any other.", ["fiber/queue.hpp", "fiber/pipe.hpp"]),
    "manager": ("Managers and containers", "Objects in a job of their own, called from any process.",
                ["fiber/manager.hpp", "fiber/ref.hpp", "fiber/containers.hpp"]),
    "lock": ("Locks between processes", "Locks, semaphores, events, conditions and barriers.",
             ["fiber/lock.hpp", "fiber/semaphore.hpp", "fiber/event.hpp", "fiber/condition.hpp",
              "fiber/barrier.hpp"]),
    "supervisor": ("Supervisors and checkpoints", "Objects that are restarted when their job dies.",
                   ["fiber/supervisor.hpp", "fiber/supervision.hpp", "fiber/checkpoint.hpp",
                    "fiber/this_object.hpp"]),
    "publish": ("Published series", "Curves of a program, for its live page.", ["fiber/publish.hpp"]),
    "ring": ("Rings", "Ranked members that run one function together.",
             ["fiber/ring.hpp", "fiber/ring_member.hpp"]),
    "actor": ("CAF actors in jobs", "The one header that shows CAF.", ["fiber/actor.hpp"]),
    "rl-environments": ("RL: environments", "What an agent acts in.",
                        ["fiber/rl/environment.hpp", "fiber/rl/environment_check.hpp",
                         "fiber/rl/wrappers.hpp",
                         "fiber/rl/environments.hpp", "fiber/rl/cartpole.hpp",
                         "fiber/rl/pendulum.hpp", "fiber/rl/acrobot.hpp", "fiber/rl/mountain_car_continuous.hpp",
                         "fiber/rl/lunar_lander.hpp", "fiber/rl/bipedal_walker.hpp", "fiber/rl/terrain.hpp",
                         "fiber/rl/mujoco.hpp", "fiber/rl/mujoco_env.hpp",
                         "fiber/rl/breakout.hpp", "fiber/rl/knights_tour.hpp", "fiber/rl/gym.hpp",
                         "fiber/rl/image.hpp"]),
    "rl-vectors": ("RL: vectors of environments", "Many environments that are stepped together.",
                   ["fiber/rl/vec_env.hpp", "fiber/rl/any_vec_env.hpp", "fiber/rl/batch.hpp"]),
    "rl-policies": ("RL: policies", "Networks that act, their distributions, and what they are trained on.",
                    ["fiber/rl/policy.hpp", "fiber/rl/saved_policy.hpp", "fiber/rl/export_policy.hpp",
                     "fiber/rl/distributions.hpp",
                     "fiber/rl/normalisation.hpp", "fiber/rl/advantages.hpp", "fiber/rl/evaluate.hpp",
                     "fiber/rl/random.hpp"]),
    "rl-searches": ("RL: evolution and populations", "Searches that evaluate many candidates at once.",
                    ["fiber/rl/evolution.hpp", "fiber/rl/evolution_evaluation.hpp",
                     "fiber/rl/evolution_training.hpp", "fiber/rl/genetic.hpp", "fiber/rl/cma_es.hpp",
                     "fiber/rl/map_elites.hpp", "fiber/rl/population.hpp", "fiber/rl/ppo_problem.hpp"]),
    "rl-ppo": ("RL: proximal policy optimisation", "A trainer to call from your loop, its options, and networks of your own.",
               ["fiber/rl/ppo_trainer.hpp", "fiber/rl/ppo_options.hpp", "fiber/rl/ppo_network.hpp"]),
    "rl-programs": ("RL: programs, logs and files", "Trainers to call from your main, and what they write.",
                    ["fiber/rl/ppo.hpp", "fiber/rl/es_train.hpp", "fiber/rl/poet.hpp",
                     "fiber/rl/checkpoint_file.hpp", "fiber/rl/training_log.hpp", "fiber/rl/event_file.hpp",
                     "fiber/rl/live_line.hpp", "fiber/rl/plot.hpp"]),
}
# These only include all the others.
WHOLE = ["fiber/fiber.hpp", "fiber/rl.hpp"]


def public_headers(root: Path) -> list[str]:
    return sorted(
        path.relative_to((root / folder).parent).as_posix()
        for folder in ROOTS
        for path in (root / folder).rglob("*.hpp")
        if "detail" not in path.relative_to(root).parts
    )


def problems(root: Path) -> list[str]:
    """Each public header stands on exactly one page."""
    shown = WHOLE + [header for _, _, headers in PAGES.values() for header in headers]
    known = public_headers(root)
    wrong = [f"docs/site/reference.py: {header} is on no page" for header in known if header not in shown]
    wrong += [f"docs/site/reference.py: there is no header {header}" for header in shown if header not in known]
    wrong += [f"docs/site/reference.py: {header} is on two pages" for header in sorted(set(shown))
              if shown.count(header) > 1]
    return wrong


def page(title: str, about: str, headers: list[str]) -> str:
    lines = [title, "=" * len(title), "", about, ""]
    for header in headers:
        name = f"<{header}>"
        lines += [name, "-" * len(name), "", f".. doxygengroup:: {group_of(header)}", "   :content-only:",
                  "   :members:", "   :undoc-members:", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    return {name: page(*about) for name, about in PAGES.items()}
