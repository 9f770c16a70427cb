#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the frameworks of `./dev bench --peers=all` into a virtual environment, FOLDER.

Each by itself: one that cannot be installed does not keep out the others. FOLDER/missing.json says
which are missing, and why; FOLDER/NAME.log has what pip said.
"""

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

# By the labels of rows.py. A list of pip's arguments is one call; all of them must succeed.
FRAMEWORKS = {
    "Ray": [["ray==2.60.0", "numpy==2.4.6"]],
    "Dask": [["distributed==2026.8.0", "asyncssh==2.24.1"]],
    "joblib": [["joblib==1.6.0"]],
    "Spark": [["pyspark==4.3.0"]],
    # It asks for nnpy-bundle, which has wheels up to Python 3.8 only and builds itself from a
    # clone of nanomsg. nnpy is the same module, for the nanomsg of the system.
    "Fiber for Python": [
        ["wheel", "cffi"],
        ["nnpy==1.4.2", "psutil", "docker", "cloudpickle", "kubernetes", "requests", "click"],
        ["--no-deps", "fiber==0.2.1"],
        ["numpy==2.4.6"],
    ],
}


def reason_of(log):
    """The last line that says in words what is wrong; pip ends with slugs, "error: some-failure"."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error: \S+ \S", line, re.IGNORECASE)]
    return (errors or lines or ["pip said nothing"])[-1]


def install(folder, name, calls):
    """Why it could not be installed; empty if it was."""
    log = folder / f"{name}.log"
    with open(log, "w", encoding="utf-8") as output:
        for arguments in calls:
            pip = [folder / "bin/python", "-m", "pip", "install", "--quiet",
                   "--disable-pip-version-check", *arguments]
            if subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              check=False).returncode != 0:
                output.flush()
                return f"{reason_of(log)} ({log} has all of it)"
    return ""


def main():
    if len(sys.argv) != 2:
        print("usage: install.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    if not (folder / "bin/python").exists():
        venv.create(folder, symlinks=True, with_pip=True)
    missing = {}
    for name, calls in FRAMEWORKS.items():
        print(f"{name}: ", end="", flush=True)
        reason = install(folder, name, calls)
        print(reason or "installed")
        if reason:
            missing[name] = reason
    (folder / "missing.json").write_text(json.dumps(missing, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
