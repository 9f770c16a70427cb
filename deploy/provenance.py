#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes how packages were built: an in-toto statement with the predicate of SLSA provenance, version 1.

usage: provenance.py --command COMMAND BUILD PACKAGES    of the Debian packages in PACKAGES; writes PACKAGES/fiber.intoto.json

The subjects are the packages by their SHA-256, the dependencies are the commit of the source, which is in the current
folder, and the packages that BUILD/fiber.cdx.json, the SBOM, lists. The statement is not signed and the builder is whoever ran COMMAND: SLSA's level 1. Sign it with the key
that signs the release, for example: cosign attest-blob --statement OUT.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path


class Problem(Exception):
    """What the user is told."""


def git(source: Path, *words: str) -> str:
    done = subprocess.run(("git", "-C", str(source), *words), check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Problem(f"{source} is no clone of the source: {done.stderr.strip()}")
    return done.stdout.strip()


def dependencies(source: Path, sbom: Path) -> list[dict]:
    if git(source, "status", "--porcelain", "--untracked-files=no"):
        raise Problem(f"{source} has changes that no commit has: commit them first")
    found = [{"name": "source", "digest": {"gitCommit": git(source, "rev-parse", "HEAD")}}]
    for part in json.loads(sbom.read_text(encoding="utf-8"))["components"]:
        if "purl" in part:
            found.append({"uri": part["purl"]})
    return found


def statement(args: argparse.Namespace) -> dict:
    packages = sorted(args.packages.glob("*.deb"))
    if not packages:
        raise Problem(f"{args.packages} has no packages")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}
            for path in packages
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:fiber:command:1",
                "externalParameters": {"command": args.command},
                "resolvedDependencies": dependencies(Path.cwd(), args.build / "fiber.cdx.json"),
            },
            "runDetails": {"builder": {"id": "urn:fiber:builder:own-machine"}},
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("build", type=Path)
    parser.add_argument("packages", type=Path)
    args = parser.parse_args()
    try:
        text = json.dumps(statement(args), indent=2) + "\n"
        (args.packages / "fiber.intoto.json").write_text(text, encoding="utf-8")
    except (Problem, OSError) as error:
        print(f"provenance: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
