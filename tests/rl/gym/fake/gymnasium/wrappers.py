# SPDX-License-Identifier: Apache-2.0
"""What GymEnv uses of Gymnasium's wrappers for Atari's games."""

from gymnasium import Array, Box


class AtariPreprocessing:
    """Shows a game's bytes, as they are or from 0 to 1, and stacks nothing."""

    def __init__(self, env, terminal_on_life_loss=False, scale_obs=False):
        self.unwrapped, self.scale = env, 1 / 255 if scale_obs else 1
        self.action_space = env.action_space
        self.observation_space = Box(0, 255 * self.scale, env.observation_space.shape)

    def shown(self, screen):
        return Array("f", [self.scale * byte for byte in screen])

    def reset(self, seed):
        return self.shown(self.unwrapped.reset(seed)[0]), {}

    def step(self, action):
        screen, *others = self.unwrapped.step(action)
        return self.shown(screen), *others

    def close(self):
        pass


def FrameStackObservation(env, count):
    return env
