#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the peers of bench/rl/run.py into a virtual environment, FOLDER.

Each by itself: one that cannot be installed does not keep out the others. FOLDER/missing.json says
which are missing, and why; FOLDER/NAME.log has what pip said. The package index has PyTorch for
Linux with what a GPU needs, some 5 GB; it computes on the CPU here.

Make it with Debian's Python (/usr/bin/python3), which GymEnv embeds, and GymEnv can use it too:
FIBER_RL_VENV=FOLDER.
"""

import json
import sys
import time
import venv
from pathlib import Path

sys.dont_write_bytecode = True  # The source tree stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from install import install  # noqa: E402

# By the labels of rows.py. A list of pip's arguments is one call; all of them must succeed.
PEERS = {
    "Gymnasium": [["gymnasium==1.4.0", "numpy"]],
    "Box2D": [["gymnasium[box2d]==1.4.0"]],
    "Gymnasium, MuJoCo": [["gymnasium==1.4.0", "mujoco==3.3.7"]],
    "ALE": [["gymnasium[atari]==1.4.0", "opencv-python-headless"]],
    "EnvPool": [["envpool==1.2.5"]],
    "exported policies": [["onnx==1.23.2", "onnxruntime==1.32.0", "safetensors"]],
    "Stable-Baselines3": [["torch==2.15.0"], ["stable-baselines3==2.9.2"]],
    "sb3-contrib": [["torch==2.15.0"], ["stable-baselines3==2.9.2", "sb3-contrib==2.9.2"]],
}


def main():
    if len(sys.argv) != 2:
        print("usage: install.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    if not (folder / "bin/python").exists():
        venv.create(folder, symlinks=True, with_pip=True)
    missing = {}
    for name, calls in PEERS.items():
        print(f"{name}: ", end="", flush=True)
        start = time.monotonic()
        reason = install(folder, name, calls)
        print(reason or f"installed in {time.monotonic() - start:.0f} s")
        if reason:
            missing[name] = reason
    (folder / "missing.json").write_text(json.dumps(missing, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
