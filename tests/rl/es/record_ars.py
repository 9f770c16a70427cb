#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records updates of augmented random search (Mania et al. 2018, algorithm 1 and 2): fixtures/ars.txt, for ars_test.cpp.

    apt-get install python3-numpy
    python3 tests/rl/es/record_ars.py > tests/rl/es/fixtures/ars.txt

Written from the paper. First the noise and the offsets of the directions, as Evolution asks for them with seed 3; then
for each variant its settings, the returns of the candidates, and the parameters after the update. Of V2: states, and
actions of a linear policy that are computed from all of these states. One list of numbers a line.
"""
import numpy as np

SIZE = 4
OFFSETS = [13, 0, 19, 23, 19, 20]


def write(name, *values):
    print(name, *(float(value).hex() for value in np.ravel(np.array(values, dtype=float))))


def update(parameters, directions, plus, minus, used, step):
    """One step with the `used` best of the directions."""
    order = sorted(range(len(plus)), key=lambda k: -max(plus[k], minus[k]))[:used]
    deviation = np.std([plus[k] for k in order] + [minus[k] for k in order])
    total = sum((plus[k] - minus[k]) * directions[k] for k in order)
    return parameters + step / (used * deviation) * total


random = np.random.RandomState(7)
noise = random.randn(32).astype(np.float32)
write("noise", noise)
write("offsets", OFFSETS)
directions = [noise[offset:offset + SIZE].astype(float) for offset in OFFSETS]
for used, step in ((6, 0.02), (3, 0.05), (1, 0.5)):
    parameters = random.randn(SIZE).astype(np.float32)
    plus, minus = 100 * random.randn(2, len(OFFSETS))
    write("run", used, step)
    write("parameters", parameters)
    write("plus", plus)
    write("minus", minus)
    write("updated", update(parameters.astype(float), directions, plus, minus, used, step))

states = (np.array([5, -3]) + np.array([0.1, 20]) * random.randn(200, 2)).astype(np.float32)
weights = random.randn(3, 2).astype(np.float32)
mean, deviation = states.astype(float).mean(axis=0), states.astype(float).std(axis=0)
write("states", states)
write("weights", weights)
write("actions", (states.astype(float)[:10] - mean) / deviation @ weights.T.astype(float))
