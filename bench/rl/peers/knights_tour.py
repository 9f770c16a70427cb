# SPDX-License-Identifier: Apache-2.0
"""The environment knights_tour (rl/env/knights_tour.cpp) in Python, for peers."""

import gymnasium
import numpy

SIDE = 8


def jumps_from(square):
    """The squares that are a knight's jump away."""
    row, column = divmod(square, SIDE)
    around = [(row + a, column + b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a * b) == 2]
    return [SIDE * a + b for a, b in around if 0 <= a < SIDE and 0 <= b < SIDE]


JUMPS = [numpy.array(jumps_from(square)) for square in range(SIDE * SIDE)]


class KnightsTour(gymnasium.Env):
    """A reward of 1 for each jump to a new square; the end when there is none."""

    observation_space = gymnasium.spaces.Box(0, 1, (2 * SIDE * SIDE,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(SIDE * SIDE)

    def _visit(self, square):
        self.square = square
        self.visited[square] = True

    def _observation(self):
        seen = numpy.zeros(2 * SIDE * SIDE, numpy.float32)
        seen[:SIDE * SIDE] = self.visited
        seen[SIDE * SIDE + self.square] = 1
        return seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.visited = numpy.zeros(SIDE * SIDE, bool)
        self._visit(int(self.np_random.integers(SIDE * SIDE)))
        return self._observation(), {}

    def action_masks(self):
        """For MaskablePPO."""
        mask = numpy.zeros(SIDE * SIDE, bool)
        jumps = JUMPS[self.square]
        mask[jumps] = ~self.visited[jumps]
        return mask

    def step(self, action):
        if not self.action_masks()[action]:
            raise ValueError(f"no jump from {self.square} to {action}")
        self._visit(int(action))
        return self._observation(), 1.0, not self.action_masks().any(), False, {}
