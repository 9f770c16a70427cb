#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses files that are opened without a look at who has made them.

What a program believes is opened by open_trusted() or read_trusted() of base/trusted_file.hpp, and what it leaves is
written by FileDraft of base/file_draft.hpp. Paths of /proc, /sys and /dev are the kernel's. The table below has the
other places, each with the reason why nobody else can have put a file there, or why that does no harm.

usage: check_files.py [ROOT]    prints what is wrong; exit code 1 if something is
"""

import re
import sys
from pathlib import Path

FOLDERS = ("base", "wire", "backends", "actors", "libfiber", "cli", "rl", "programs")
OPENS = re.compile(r"(?<![\w:>])::open(?:at)?\(|\bfopen\(|\bstd::[io]?fstream\b")
KERNEL = re.compile(r'"/(?:proc|sys|dev)/|"/"')
ALLOWED = {
    "backends/container/control_group.cpp": "files of control groups",
    "backends/docker/container.cpp": "files of /proc that its callers name",
    "backends/docker/engine.cpp": "certificates that docker(1) reads as well; only their content counts",
    "backends/engine/child_process.cpp": "the input of a program, which its callers name",
    "backends/kubernetes/kind.cpp": "looks whether a pod's token is there",
    "backends/kubernetes/pod_entry.cpp": "a Secret that the kubelet has mounted",
    "backends/kubernetes/watched_file.cpp": "kubeconfigs and certificates, as kubectl reads them",
    "backends/local/gpus.cpp": "files of /proc and /sys, and of a test's folder in their place",
    "backends/local/process_limit.cpp": "files of /proc and of control groups",
    "backends/slurm/output_files.cpp": "in the session's folder, which is this user's alone",
    "backends/slurm/session_folder.cpp": "in the session's folder, O_EXCL",
    "backends/slurm/strangers.cpp": "in a folder whose owner was looked at",
    "backends/ssh/program_file.cpp": "the program and its libraries",
    "base/code_symbol.cpp": "the program and its libraries",
    "base/file_draft.cpp": "this is how files are written",
    "base/memory_file.cpp": "memory of a process, which it maps",
    "base/sync_folder.cpp": "a folder, for fsync",
    "base/trusted_file.cpp": "this is how files are believed",
    "cli/docker/images.cpp": "a folder of an image that this command has made",
    "cli/engines/image.cpp": "a program that the user names, to be put into an image",
    "cli/engines/tail.cpp": "output of a driver, which is only shown",
    "cli/engines/unpacking.cpp": "the folder that the user names",
    "cli/local/left.cpp": "files of /proc",
    "cli/local/run.cpp": "a log, O_EXCL",
    "cli/slurm/drivers.cpp": "output of a driver, which is only shown",
    "libfiber/observer/relay.cpp": "files of /proc that its callers name",
    "libfiber/observer/session_note.cpp": "in the folder of sockets, whose owner was looked at",
    "libfiber/session/cpu_quota.cpp": "files of control groups",
    "libfiber/supervision/checkpoint_file.cpp": "the file beside, O_EXCL, whose owner is looked at",
    "rl/es_train/files.cpp": "a policy: numbers, which are checked",
    "rl/report/event_file.cpp": "a file of TensorBoard, which is only added to",
    "rl/report/training_log.cpp": "a curve, which is only added to",
    "rl/storage/checkpoint_file.cpp": "a policy or state, read by an archive that believes nothing",
    "rl/storage/file.cpp": "a log, O_EXCL or after a FileDraft",
    "rl/vec/rows.cpp": "memory of a process, which it maps",
    "wire/local_listener.cpp": "a socket in a folder that it has just made for this user alone",
}


def opens_in(text: str) -> list[int]:
    """The numbers of the lines that open a file which is not the kernel's."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0] if "://" not in line else line
        if OPENS.search(code) and not KERNEL.search(" ".join(lines[number - 1 : number + 1])):
            found.append(number)
    return found


def problems(root: Path) -> list[str]:
    found = []
    unused = set(ALLOWED)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.?pp")):
            name = path.relative_to(root).as_posix()
            lines = opens_in(path.read_text(encoding="utf-8"))
            if name in ALLOWED and lines:
                unused.discard(name)
            elif lines:
                found += [f"{name}:{n}: use open_trusted(), read_trusted() or FileDraft, or say in {Path(__file__).name} why not" for n in lines]
    if (root / "base").exists():
        found += [f"{name} opens no file any more: take it out of the table of {Path(__file__).name}" for name in sorted(unused)]
    return found


def main() -> int:
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    for problem in found:
        print(f"files: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
