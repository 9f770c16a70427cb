#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the includes between rooms with the table in docs/internals/architecture.md.

A room is a folder of the library with C++ files in it; the public headers of a layer, LAYER/fiber/, are one. The table
under the heading "Rooms" has a row for each: its name, what it is for, and the rooms whose headers it may include. Rooms stand
above those that include them, so the includes form no circle. Every room may include the vocabulary, base/fiber/.

usage: check_rooms.py [ROOT]    prints what is wrong; exit code 1 if something is
"""

import re
import sys
from pathlib import Path

LAYERS = ("base", "wire", "backends", "actors", "libfiber", "rl", "cli")
PUBLIC = ("base/fiber", "actors/fiber", "libfiber/fiber", "rl/fiber")
VOCABULARY = "base/fiber"
PAGE = "docs/internals/architecture.md"


def rooms_in_table(page: str) -> dict[str, list[str]]:
    """The rooms in the order of the table, each with those that it may include."""
    section = re.search(r"^## Rooms$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `([^`]+)/` \|[^|]*\|([^|]*)\|$", section.group(1) if section else "", re.MULTILINE)
    return {name: re.findall(r"`([^`]+)/`", includes) for name, includes in rows}


def room_of(file: Path) -> str:
    folder = file.parent.as_posix()
    return next((room for room in PUBLIC if folder.startswith(room)), folder)


def includes_in_code(root: Path) -> dict[str, dict[str, str]]:
    """For each room the rooms that it includes, and a place where it does so."""
    files = [
        path.relative_to(root)
        for layer in LAYERS
        for path in sorted((root / layer).rglob("*"))
        if path.suffix in (".cpp", ".hpp")
    ]
    known = {path.as_posix() for path in files}
    found: dict[str, dict[str, str]] = {}
    for file in files:
        room = room_of(file)
        found.setdefault(room, {})
        for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line)
            if not match:
                continue
            name = match.group(1)
            places = (name, *(f"{Path(room).parent}/{name}" for room in PUBLIC))
            target = next((path for path in places if path in known), None)
            if target and room_of(Path(target)) not in (room, VOCABULARY):
                found[room].setdefault(room_of(Path(target)), f"{file}:{number}")
    return found


def problems(root: Path) -> list[str]:
    allowed = rooms_in_table((root / PAGE).read_text(encoding="utf-8"))
    actual = includes_in_code(root)
    if not allowed:
        return [f"{PAGE} has no table under the heading 'Rooms'"]
    order = {room: place for place, room in enumerate(allowed)}
    wrong = []
    for room, targets in actual.items():
        if room not in allowed:
            wrong.append(f"{PAGE}: no row for the room {room}/")
            continue
        for target, place in targets.items():
            if target not in allowed[room]:
                wrong.append(f"{place}: {room}/ must not include {target}/ ({PAGE} does not list it)")
    for room, targets in allowed.items():
        if room not in actual:
            wrong.append(f"{PAGE}: there is no room {room}/")
        for target in targets:
            if order.get(target, len(order)) >= order[room]:
                wrong.append(f"{PAGE}: {target}/ must stand above {room}/, which includes it")
            if room in actual and target not in actual[room]:
                wrong.append(f"{PAGE}: {room}/ does not include {target}/")
    return wrong


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    wrong = problems(root)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
