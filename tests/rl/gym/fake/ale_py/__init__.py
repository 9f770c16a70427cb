# SPDX-License-Identifier: Apache-2.0
"""What GymEnv uses of ale-py. The games are in the fake Gymnasium."""

import types

LoggerMode = types.SimpleNamespace(Error=2)


class ALEInterface:
    @staticmethod
    def setLoggerMode(mode):
        if mode != LoggerMode.Error:
            raise ValueError(mode)
