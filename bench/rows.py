# SPDX-License-Identifier: Apache-2.0
"""What is measured, against whom, and the goals: the table that run.py works through.

A program is named with the arguments it is called with; {row} stands for the row's name. Each
prints one JSON line a measurement: {"name": ROW, "value": NUMBER, "unit": UNIT}, and may print one
that says what was measured: {"version": TEXT}.
"""

from dataclasses import dataclass

FIBER = ("fiber_bench", "{row}")
THREADS = ("peers/threads", "{row}")
MULTIPROCESSING = ("peers/multiprocessing_peer.py", "{row}")
SOCKET_PAIR = ("peers/ping_pong", "{row}")
OBJECTS = ("object_bench", "{row}")
SUPERVISOR = ("supervisor_bench", "{row}")
ACTOR_LEARNER = ("actor_learner.py", "{row}")

IPYPARALLEL = ("peers/ipyparallel_peer.py", "{row}")

# In a virtual environment (peers/install.py), and only measured with --peers=all.
FRAMEWORKS = {
    "Fiber for Python": ("peers/python_fiber_peer.py", "{row}"),
    "Ray": ("peers/ray_peer.py", "{row}"),
    "Dask": ("peers/dask_peer.py", "{row}"),
    "joblib": ("peers/joblib_peer.py", "{row}"),
    "Spark": ("peers/spark_peer.py", "{row}"),
}


def zeromq(in_flight):
    return ("peers/zeromq_farm", str(in_flight))


def openmpi(transport, in_flight):
    return ("peers/openmpi_farm", transport, str(in_flight), "{row}")


@dataclass(frozen=True)
class Goal:
    """ours SIGN factor x other + offset; `other` is a peer's label, another row, or nothing."""

    sign: str  # "<=" or ">="
    factor: float
    other: str = ""
    offset: float = 0.0


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    unit: str
    peers: tuple = ()  # (label, program) each
    goals: tuple = ()
    also: str = ""  # The row of fiber_bench that prints this one; empty: its own.
    program: tuple = FIBER


def multiprocessing_objects(*arguments):
    return ("peers/multiprocessing_objects_peer.py", *arguments)


def _overhead(kind, duration, unit, goals):
    title = f"{'batch' if kind == 'batch' else 'rounds of 5'}, {duration} sleep"
    peers = (("threads", THREADS), ("multiprocessing", MULTIPROCESSING),
             ("OpenMPI", openmpi("shm", 2)), ("OpenMPI, TCP", openmpi("tcp", 2)))
    if duration != "100us":  # Which the paper has not: some would take minutes for it.
        peers += (("IPyParallel", IPYPARALLEL), *FRAMEWORKS.items())
    return Row(f"overhead_{kind}_{duration}", title, unit, peers, goals)


def _both(name, title, unit, local=((), ()), tls=((), ())):
    """A row of object_bench, and the same over TLS: (peers, goals) of each."""
    return (Row(f"{name}_local", title, unit, *local, program=OBJECTS),
            Row(f"{name}_tls", "the same over TLS", unit, *tls, program=OBJECTS))


def _simple_queue(zeromq_label):
    peers = (("multiprocessing.SimpleQueue", multiprocessing_objects("simple_queue_local")),
             ("ZeroMQ, ipc", ("peers/zeromq_stream", "ipc")),
             ("ZeroMQ, TCP", ("peers/zeromq_stream", "tcp")))
    return peers, (Goal(">=", 5.0, "multiprocessing.SimpleQueue"), Goal(">=", 0.6, zeromq_label))


def _queue(size, pairs):
    name, of = f"queue_{size.lower()}_{pairs}", "multiprocessing.Queue"
    peers = ((of, multiprocessing_objects(f"{name}_local")),)
    goal = Goal(">=", 1.5 if name == "queue_1mb_1" else 1.0, of)
    title = f"Queue, {size[0]} {size[1:]} items, {pairs} to {pairs}"
    return _both(name, title, "MB/s", (peers, (goal,)), (peers, (goal,)))


def _call(raw_label, transport):
    return ((raw_label, ("peers/ping_pong", f"pipe_{transport}")),
            ("multiprocessing.Manager", multiprocessing_objects("call_local")))


def _env(name, title):
    peers = tuple((label, multiprocessing_objects(kind, f"{name}_local"))
                  for label, kind in (("multiprocessing.Manager", "managers"),
                                      ("pipes, as SubprocVecEnv", "pipes")))
    return _both(name, title, "steps/s", (peers, ()))


def _ring(size, title):
    peers = (("Gloo called directly", ("peers/gloo_allreduce", "{row}")),
             ("OpenMPI", ("peers/openmpi_allreduce", "shm", "{row}")),
             ("OpenMPI, TCP", ("peers/openmpi_allreduce", "tcp", "{row}")))
    return Row(f"ring_allreduce_{size}", title, "calls/s", peers,
               (Goal(">=", 0.5, "OpenMPI"),))


def _actor_learner(rollouts):
    return Row(f"actor_learner_{rollouts}", f"{rollouts} rollout actors", "steps/s", program=ACTOR_LEARNER)


_EXECUTOR = (("concurrent.futures", ("peers/executor_peer.py", "{row}")),)


def _latency(call, title):
    peers = (("multiprocessing", ("peers/executor_peer.py", "{row}")),)
    first, tls = _both(f"latency_{call}", title + ": median", "us", (peers, ()))
    rest = tuple(Row(f"{row.name}_{name}", f"the same{over}: {words}", "us",
                     peers if row is first else (), also=row.name, program=OBJECTS)
                 for row, over in ((first, ""), (tls, " over TLS"))
                 for name, words in (("p99", "99th percentile"), ("p999", "99.9th percentile")))
    return first, *rest[:2], tls, *rest[2:]


_EQUAL = (Goal("<=", 1.01, "multiprocessing"),)
_AHEAD = (Goal("<=", 1.0, "multiprocessing"),)

TABLES = {
    "Overhead: 5 workers, 1 s of ideal time": (
        _overhead("batch", "1s", "s", _EQUAL),
        _overhead("batch", "100ms", "s", _EQUAL),
        _overhead("batch", "10ms", "s", _AHEAD),
        _overhead("batch", "1ms", "s", (Goal("<=", 1.03, "threads"), *_AHEAD)),
        _overhead("batch", "100us", "s", _AHEAD),
    ),
    "Overhead in lock step: mean round of 5": (
        _overhead("lockstep", "1s", "us", ()),
        _overhead("lockstep", "100ms", "us", ()),
        _overhead("lockstep", "10ms", "us", ()),
        _overhead("lockstep", "1ms", "us", (Goal("<=", 1.0, "threads", 20.0),)),
        _overhead("lockstep", "100us", "us", ()),
    ),
    "Tasks and round trips of 16 bytes": (
        Row("noop_local", "no-op tasks, 4 workers, chunksize 1", "tasks/s",
            (("multiprocessing", MULTIPROCESSING), ("ZeroMQ, 1 in flight", zeromq(1)),
             ("ZeroMQ, 8", zeromq(8)), ("ZeroMQ, 64", zeromq(64)),
             ("ZeroMQ, unlimited", zeromq("unlimited")),
             ("OpenMPI, 1 in flight", openmpi("shm", 1)), ("OpenMPI, 64", openmpi("shm", 64)),
             ("OpenMPI, TCP, 1", openmpi("tcp", 1)), ("OpenMPI, TCP, 64", openmpi("tcp", 64))),
            (Goal(">=", 1e6), Goal(">=", 1.0, "ZeroMQ, unlimited"))),
        Row("noop_tls", "the same over TLS", "tasks/s", (),
            (Goal(">=", 0.7, "noop_local"),)),
        Row("apply_local", "apply, 1 worker", "round trips/s",
            (("multiprocessing", MULTIPROCESSING), ("raw socket pair", SOCKET_PAIR)),
            (Goal(">=", 1.0, "multiprocessing"), Goal(">=", 0.4, "raw socket pair"))),
        Row("apply_tls", "the same over TLS", "round trips/s",
            (("raw TLS", SOCKET_PAIR),), (Goal(">=", 0.4, "raw TLS"),)),
    ),
    "Many futures, 4 workers, no-op tasks of 16 bytes": (
        *_both("futures_10k", "10,000 in flight: apply_async, then as_completed", "futures/s",
               (_EXECUTOR, (Goal(">=", 1.0, "concurrent.futures"),))),
        *_both("futures_100k", "100,000 in flight", "futures/s",
               (_EXECUTOR, (Goal(">=", 1.0, "concurrent.futures"),))),
        *_both("dag_10k", "100 chains of 100 tasks, each submitted by `then`", "tasks/s",
               (_EXECUTOR, (Goal(">=", 1.0, "concurrent.futures"),))),
    ),
    "How long a call takes: 16 bytes there and back": (
        *_latency("apply_1", "apply, 4 workers, 1 thread calls"),
        *_latency("apply_8", "8 threads call"),
        *_latency("call_1", "call of an object, 1 thread calls"),
        *_latency("call_8", "8 threads call"),
    ),
    "Values": (
        Row("pack_double", "a double packed and unpacked", "ns",
            (("Boost archives", ("pack_bench", "archive_double")),),
            (Goal("<=", 99.0),), program=("pack_bench", "{row}")),
    ),
    "Tasks that use OpenMP": (
        Row("openmp_8", "160 loops on OpenMP, 8 workers", "s",
            (("OMP_NUM_THREADS=1", ("openmp_bench", "one")), ("multiprocessing", MULTIPROCESSING),
             *((label, FRAMEWORKS[label]) for label in ("Dask", "joblib"))),
            (Goal("<=", 1.1, "OMP_NUM_THREADS=1"), Goal("<=", 1.0, "Dask"), Goal("<=", 1.0, "joblib")),
            program=("openmp_bench",)),
    ),
    "Large arguments and results: 1 MB there and back, MB/s each way": (
        Row("megabyte_local", "map, 4 workers", "MB/s",
            (("multiprocessing", MULTIPROCESSING), ("raw socket pair, 1 peer", SOCKET_PAIR)),
            (Goal(">=", 3.0, "multiprocessing"),)),
        Row("megabyte_tls", "the same over TLS", "MB/s",
            (("raw TLS, 1 peer", SOCKET_PAIR),), (Goal(">=", 0.5, "raw TLS, 1 peer"),)),
    ),
    "Values sent once": (
        Row("share_shared", "100 MB Shared, 16 jobs, 1,000 tasks", "s",
            (("sending 100 MB once", ("peers/ping_pong", "send_100mb")),),
            (Goal("<=", 16 * 1.2, "sending 100 MB once"),)),
        Row("share_shared_transfers", "transfers for each job", "transfers", (),
            (Goal("<=", 1.01),), also="share_shared"),  # 1 % for the heads of frames.
        Row("share_array", "100 MB SharedArray, 16 jobs, 1,000 tasks", "s",
            (("sending 100 MB once", ("peers/ping_pong", "send_100mb")),),
            (Goal("<=", 1.0, "sending 100 MB once", 0.05),)),
        Row("bound_10mb", "10 MB bound, 10,000 tasks: bytes sent by jobs x 10 MB", "ratio",
            (), (Goal("<=", 1.1),)),
    ),
    "Starts, memory, recovery": (
        Row("start_256", "256 workers from nothing to all connected", "s",
            (("bare fork", ("peers/processes", "fork")),
             ("bare fork and exec", ("peers/processes", "exec")),
             ("multiprocessing", MULTIPROCESSING)), (Goal("<=", 1.0),)),
        Row("start_256_memory", "unshared memory of each, after a task", "MB",
            (("bare fork", ("peers/processes", "fork")),
             ("bare fork and exec", ("peers/processes", "exec")),
             ("multiprocessing", MULTIPROCESSING)), (Goal("<=", 3.0),), also="start_256"),
        Row("queued_1m", "driver's memory for a queued task, without its payload", "bytes", (),
            (Goal("<=", 200.0),)),
        Row("start_1024", "1,024 workers from nothing to all connected", "s",
            (("bare fork", ("peers/processes", "fork", "1024")),), (Goal("<=", 5.0),)),
        Row("naps_1024", "a map of 100,000 sleeps of 1 ms over them", "s",
            (("bare sleepers", ("peers/processes", "sleepers")),
             ("sleeps dealt over socket pairs, 1 per message", ("peers/dealt_naps", "1")),
             ("10 per message", ("peers/dealt_naps", "10")),
             ("49 per message", ("peers/dealt_naps", "49")),
             ("49 per message, with a pool's promises",
              ("peers/dealt_naps", "49", "promised"))),
            (Goal("<=", 1.11, "bare sleepers"),), also="start_1024"),
        Row("naps_1024_driver", "the same: the driver's processor time per task", "us",
            also="start_1024"),
        Row("autoscale_64", "autoscale(0, 64): from a burst of tasks to 64 workers", "s", (),
            (Goal("<=", 1.0),)),
        Row("autoscale_64_back", "the same: until all are gone, beyond `idle`", "s", (),
            (Goal("<=", 1.0),), also="autoscale_64"),
        Row("recovery", "kill -9 of a worker to its task running elsewhere", "s", (),
            (Goal("<=", 0.2),)),
    ),
    "Queues between jobs": (
        *_both("simple_queue", "SimpleQueue, 64-byte items, 1 to 1", "items/s",
               _simple_queue("ZeroMQ, ipc"), _simple_queue("ZeroMQ, TCP")),
        *_queue("1kB", 1), *_queue("1kB", 4), *_queue("1MB", 1), *_queue("1MB", 4),
        *_both("pool_puts", "Queue, 1 kB items, 4 pool workers to the driver", "MB/s"),
        *_both("pool_gets", "Queue, 1 kB items, the driver to 4 pool workers", "MB/s"),
    ),
    "Queues that live in a job": (
        *_both("third_queue_64b", "SimpleQueue, 64-byte items, 1 to 1 by a third job", "items/s"),
        *_both("third_queue_1mb", "Queue, 1 MB items, 1 to 1 by a third job", "MB/s"),
        *_both("inbox_64b", "SimpleQueue, 64-byte items, to the job that has made it", "items/s"),
        *_both("inbox_1mb", "Queue, 1 MB items, to the job that has made it", "MB/s"),
    ),
    "Pipes and objects: 16 bytes there and back": (
        *_both("pipe", "pipe, driver and job", "round trips/s",
               ((("raw socket pair", ("peers/ping_pong", "pipe_local")),
                 ("multiprocessing.Pipe", multiprocessing_objects("pipe_local"))),
                (Goal(">=", 0.6, "raw socket pair"),)),
               ((("raw TLS", ("peers/ping_pong", "pipe_tls")),), (Goal(">=", 0.6, "raw TLS"),))),
        *_both("call", "call of an object, 1 at a time", "round trips/s",
               (_call("raw socket pair", "local"), (Goal(">=", 0.5, "raw socket pair"),)),
               (_call("raw TLS", "tls"), (Goal(">=", 0.5, "raw TLS"),))),
        *_both("call_async", "100 calls in flight", "round trips/s",
               (_call("raw socket pair", "local"), (Goal(">=", 10.0, "multiprocessing.Manager"),)),
               (_call("raw TLS", "tls"), (Goal(">=", 10.0, "multiprocessing.Manager"),))),
        *_both("actor", "request of a CAF actor in a job", "round trips/s", ((), ()),
               ((("caf::io over caf::openssl", ("peers/caf_remote",)),),
                (Goal(">=", 2.5, "caf::io over caf::openssl"),))),
        *_both("refs_10k", "10,000 objects made and called once", "s",
               ((), (Goal("<=", 3.0),)), ((), (Goal("<=", 3.0),))),
    ),
    "Remote environments": (
        *_env("env_10", "10 CartPoles, a call for each"),
        *_env("env_100", "100 CartPoles, a call for each"),
        *_env("env_batch_10", "10 CartPoles, a call for all"),
        *_env("env_batch_100", "100 CartPoles, a call for 10"),
    ),
    "Supervised objects": (
        Row("restart", "kill -9 of a child's job until a call of the child returns", "s", (),
            (Goal("<=", 0.3),), program=SUPERVISOR),
        Row("restart_again", "the same, for a child that was just killed", "s", (),
            (Goal("<=", 0.3),), also="restart", program=SUPERVISOR),
        Row("supervised_1k", "1,000 objects in 16 jobs, spawned and called once", "s", (),
            (Goal("<=", 2.0),), program=SUPERVISOR),
        Row("supervised_1k_again", "one of these jobs killed until its 63 objects are called again",
            "s", (), (Goal("<=", 1.0),), also="supervised_1k", program=SUPERVISOR),
    ),
    "An actor-learner: 2,048 steps of CartPole an update": (
        _actor_learner(2), _actor_learner(4), _actor_learner(8), _actor_learner(64),
    ),
    "Rings: allreduce of floats by 4 members": (
        _ring("4k", "4 kB"), _ring("1m", "1 MB"), _ring("64m", "64 MB"),
    ),
    "What a trace and a journal cost": (
        Row("busy_100us", "30,000 tasks that compute for 100 us, 2 workers", "s"),
        Row("busy_100us_traced", "the same with a trace", "s", (),
            (Goal("<=", 1.03, "busy_100us"),)),
        Row("results_1k", "results of 1 kB, 4 workers", "tasks/s"),
        Row("journal_1k", "the same with a journal", "tasks/s", (), (Goal(">=", 5e4),)),
    ),
}
