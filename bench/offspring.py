# SPDX-License-Identifier: Apache-2.0
"""Runs programs that start others, and leaves none of them behind.

Frameworks detach what they start: it is in sessions of its own and outlives who started it. As a
subreaper this process becomes the parent of whatever loses its own, so it finds all of it.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36


def become_reaper():
    """Call it once. SIGTERM then ends this process as ^C does, by an exception."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def reap():
    """Collects those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def offspring():
    """The processes below this one, by id."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue  # It has just ended.
            children.setdefault(parent, []).append(int(name))
    found, parents = [], [os.getpid()]
    while parents:
        below = children.get(parents.pop(), [])
        found += below
        parents += below
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def end_offspring(grace):
    """Kills all that is below this process, after `grace` seconds to end by itself."""
    deadline = time.monotonic() + grace
    while True:
        reap()
        left = offspring()
        if not left:
            return
        if time.monotonic() >= deadline + 30:
            print(f"  still there though killed: {left}", file=sys.stderr)
            return
        if time.monotonic() >= deadline:
            kill(left)
        time.sleep(0.02)


def run(command, timeout, grace=5):
    """What `command` prints. It runs in an empty folder, which is its $TMPDIR as well.

    Throws RuntimeError, with the end of what it printed as errors, if it fails or is not done in
    time. Afterwards nothing that it started is left, and no file that it made there.
    """
    # Into files: a pipe is open for as long as anything that was started holds it.
    with tempfile.TemporaryDirectory(prefix="bench", ignore_cleanup_errors=True) as folder, \
            tempfile.TemporaryFile("w+", errors="replace") as output, \
            tempfile.TemporaryFile("w+", errors="replace") as errors:
        def end_of_errors():
            errors.seek(0)
            return " ".join(errors.read().split())[-400:]

        try:
            running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=errors, start_new_session=True, cwd=folder,
                                       env={**os.environ, "TMPDIR": folder})
            ended = os.pidfd_open(running.pid)
            try:
                done = select.select([ended], [], [], timeout)[0]
            finally:
                os.close(ended)
            if not done:
                running.kill()
                running.wait()
                raise RuntimeError(f"not done after {timeout:g} s: {end_of_errors()}")
            if running.wait() != 0:
                raise RuntimeError(f"ended with {running.returncode}: {end_of_errors()}")
        except BaseException:
            grace = 0
            raise
        finally:
            end_offspring(grace)
        output.seek(0)
        return output.read()
