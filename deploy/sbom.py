#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a build of Fiber is made of: a software bill of materials, as CycloneDX 1.5.

usage: sbom.py --build BUILD --program PROGRAM --version VERSION FILE

Nothing is listed by hand. The headers are those that the compiler read for Fiber's own objects, the libraries those
that the linker got for PROGRAM, a path in BUILD, and those that PROGRAM says it may open (an ELF note, .note.dlopen);
each belongs to a Debian package. Needs a build with Ninja, on Debian. The same build gives the same bytes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

OWN = ("base/", "wire/", "backends/", "actors/", "libfiber/", "rl/", "cli/")
LIBRARY = re.compile(r"/(usr/)?lib/.*\.(so(\.[0-9.]+)?|a)$")


class Problem(Exception):
    """What the user is told."""


def output(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    except FileNotFoundError as error:
        raise Problem(f"there is no program {command[0]}") from error
    except subprocess.CalledProcessError as error:
        raise Problem(f"{' '.join(command[:4])} failed: {error.stderr.strip() or error.stdout.strip()}") from error


def headers(build: Path) -> set[Path]:
    """The files outside of the tree that the compiler has read for Fiber's own objects."""
    found = set()
    own = False
    for line in output("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line and not line.startswith((" ", "ninja:")):
            own = line.startswith(OWN)
        elif own and line.strip():  # ccache may have made it relative.
            found.add(Path(os.path.normpath(build.resolve() / line.strip())))
    found = {path for path in found if path.is_relative_to("/usr")}
    if not found:
        raise Problem(f"{build} has no objects of Fiber: build it first")
    return found


def libraries(build: Path, program: str) -> set[Path]:
    """The libraries that the linker got for the program: by both names, of the link and of the file."""
    target = os.path.relpath(build.resolve() / program, build.resolve())
    words = output("ninja", "-C", str(build), "-t", "commands", "-s", target).split()
    found = {Path(word) for word in words if LIBRARY.match(word)}
    if not found:
        raise Problem(f"{program} is linked with no library of the system")
    return found | {path.resolve() for path in found}


def opened(build: Path, program: str) -> set[Path]:
    """The libraries that the program may open while it runs."""
    notes = re.findall(rb'FDO\0(\[\{"[ -~]*\}\])\0', (build / program).read_bytes())
    names = {name for note in notes for part in json.loads(note) for name in part["soname"]}
    known = output("/sbin/ldconfig", "-p").splitlines()
    found = {Path(line.split(" => ")[1]) for line in known if line.split(" (")[0].strip() in names}
    return found | {path.resolve() for path in found}


def owners(paths: set[Path]) -> set[str]:
    """The packages with these files. Those of no package are the user's own."""
    names = sorted({str(path) for path in paths} | {str(path).removeprefix("/usr") for path in paths})
    # It fails if one of them has no package, and tells of the others all the same.
    told = subprocess.run(("dpkg-query", "--search", *names), check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    return {name.strip() for line in told.splitlines() if ": /" in line and not line.startswith("diversion ")
            for name in line.split(": /")[0].split(",")}


def component(package: str, uses: list[str]) -> dict:
    told = output("dpkg-query", "--show", "--showformat",
                  "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Homepage}", package)
    name, version, architecture, source, homepage = told.split("\t")
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    made = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "properties": [{"name": "fiber:source-package", "value": source}]
            + [{"name": "fiber:use", "value": use} for use in uses]}
    if homepage:
        made["externalReferences"] = [{"type": "website", "url": homepage}]
    return made


def bill(build: Path, program: str, version: str) -> dict:
    used = {"compiled": owners(headers(build)), "linked": owners(libraries(build, program)),
            "opened": owners(opened(build, program))}
    packages = sorted(set().union(*used.values()))
    if not packages:
        raise Problem("no file of the build belongs to a Debian package")
    components = [component(package, [use for use, names in used.items() if package in names]) for package in packages]
    own = f"pkg:generic/fiber@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "library", "bom-ref": own, "name": "fiber", "version": version, "purl": own,
            "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    text = json.dumps(bill(options.build, options.program, options.version), indent=2) + "\n"
    options.file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (Problem, OSError) as error:
        sys.exit(f"sbom: {error}")
