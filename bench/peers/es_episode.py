# SPDX-License-Identifier: Apache-2.0
"""An episode of es_peer.py, as a worker runs it: sleep_episode of ../paper/es_run.cpp, in Python."""

import functools
import os
import time

import numpy

GOAL = 0.1 * (numpy.arange(2804) % 7)


class MappedTable:
    """An array in a file. It travels as the file's path, and what arrives is the array, mapped."""

    def __init__(self, path, array):
        self.path = path
        numpy.save(path, array)

    def __reduce__(self):
        return mapped, (self.path,)


@functools.cache
def mapped(path):
    return numpy.load(path, mmap_mode="r")


def sleep_episode(parameters, noise, task):
    """(fitness, seconds that the task took, process)"""
    begin = time.perf_counter()
    offset, step, microseconds = task
    candidate = parameters + numpy.float32(step) * noise[offset:offset + len(parameters)]
    fitness = -float(numpy.mean((candidate - GOAL[:len(candidate)]) ** 2))
    time.sleep(max(0.0, begin + 1e-6 * microseconds - time.perf_counter()))
    return fitness, time.perf_counter() - begin, os.getpid()
