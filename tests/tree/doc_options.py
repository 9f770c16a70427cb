#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets the real command lines read every command that the documentation shows, and starts nothing.

A command stands in a block of commands or in a line of text, on pages whose commands are not run as well. Of `fiber`,
./dev, cmake, and the programs and scripts of the tree, the verb, the names of the options and the files must exist;
`fiber` and the programs also read the values of the options, as they do with --help. A page that shows a wrong command
on purpose says so: <!-- wrong on purpose: fiber run -a x -->

usage: doc_options.py --fiber FIBER --build FOLDER [PAGE...]    FIBER is the command `fiber`, FOLDER a build with examples
                                                                and programs; exit code 1 if a command is wrong
"""

import argparse
import functools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from doc_blocks import ROOT, pages
from doc_commands import steps_of

BLOCK = re.compile(r"(?ms)^( *)(`{3,})(\w*)[^\n]*\n(.*?)^ *\2 *$")
INDENTED = re.compile(r"(?m)(?:\A|(?<=\n\n))((?: {4,}\S[^\n]*\n(?:[ ]*\n(?= {4}))*)+)")
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
NAMED = re.compile(r"(?<![\w-])-(?:-[a-z][\w-]*|[a-zA-Z](?![\w-]))")
WRONG = re.compile(r"<!-- wrong on purpose: (.*?) -->", re.DOTALL)
TREE = ("bench/", "tests/", "deploy/", "docs/", "examples/", "programs/")
# A page shows how to build these; their main() is that of the program.
SAME_OPTIONS = {"train_es": "es_train", "train_ppo": "ppo"}


def joined(lines: list[str]) -> list[tuple[int, str]]:
    """The commands of a block, each with the number of its line; a line that ends with a backslash goes on."""
    found = []
    whole = "\n".join(lines)
    at = 0
    for command, _ in steps_of(whole.replace("\\\n", "\\\0").split("\n")):
        begin = whole.replace("\\\n", "\\\0").find(command, at)
        found.append((whole.count("\n", 0, begin), command.replace("\\\0", " ").removeprefix("# ")))
        at = begin + len(command)
    return found


def commands_of(text: str) -> list[tuple[int, str]]:
    """Every text of a page that may be a command, with the number of its line."""
    found = []
    rest = text

    def take(match: re.Match, body: int, shown: bool) -> str:
        lines = match.group(body).split("\n")
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        first = text.count("\n", 0, match.start(body)) + 1
        if shown:
            found.extend((first + at, command) for at, command in joined([line[indent:] for line in lines]))
        return "".join("\n" if char == "\n" else " " for char in match.group())

    rest = BLOCK.sub(lambda match: take(match, 4, match.group(3) in ("", "sh")), rest)
    rest = INDENTED.sub(lambda match: take(match, 1, True), rest)
    for match in CODE.finditer(rest):
        found.append((rest.count("\n", 0, match.start()) + 1, " ".join(match.group(1).split()).replace("\\|", "|")))
    wrong = {" ".join(command.split()) for command in WRONG.findall(text)}
    return sorted((line, command) for line, command in found if command not in wrong)


def words_of(command: str) -> list[list[str]]:
    """The words of each simple command, without variables in front and without the brackets of a synopsis."""
    try:
        words = shlex.split(re.sub(r"\[(?=[-A-Z])|(?<=[\w.])\]", " ", command), comments=True)
    except ValueError:  # A quote that ends on another line.
        words = command.split()
    parts = [[]]
    for word in words:
        if word in ("&&", "||", "|", ";", "&"):
            parts.append([])
        elif parts[-1] or not (re.match(r"\w+=", word) or word in ("sudo", "exec", "nice", "time", "$")):
            parts[-1].append(word.removesuffix(";"))
            if word.endswith(";"):
                parts.append([])
    return [part for part in parts if part]


def options_in(words: list[str]) -> list[str]:
    """The names of the options among the words."""
    return [match.group() for word in words if (match := re.match(NAMED.pattern, word.split("=")[0]))]


def output(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)


@functools.cache
def names_in_help(*command: str) -> frozenset[str]:
    """The options that the --help of a command names: at the beginning of a line, two spaces before what they mean."""
    lines = output(*command, "--help").stdout.splitlines()
    columns = [re.split(r" {2,}", line.strip())[0] for line in lines if re.match(r" +-", line)]
    return frozenset(name for column in columns for name in NAMED.findall(column)) | {"--help"}


class Dev:
    """The command line of ./dev, as its --help shows it."""

    def __init__(self, usage: str):
        self.verbs: dict[str, str] = {}
        verb = ""
        for line in usage.splitlines():
            begin = re.match(r"  (\w[\w-]*) ", line)  # A verb may have several forms.
            verb = begin.group(1) if begin else verb
            if verb and line.startswith("  "):
                self.verbs[verb] = self.verbs.get(verb, "") + "\n" + line

    def problems(self, words: list[str], programs: "Programs") -> list[str]:
        if not words or words == ["--help"]:
            return []
        if words[0].startswith("-"):
            return [f"./dev {words[0]}: ./dev --help names no such option"]
        verb, rest = words[0], words[1:]
        if not re.fullmatch(r"[a-z-]+", verb):
            return []  # VERB
        if verb not in self.verbs:
            return [f"./dev {verb}: there is no such verb"]
        if verb in ("demo", "train"):
            return self.of_program(verb, rest, programs)
        known = set(NAMED.findall(self.verbs[verb])) | {"--help"}
        if verb == "bench":
            known |= names_in_help(sys.executable, "bench/run.py")
        wrong = [f"./dev {verb}: ./dev --help names no {name}" for name in options_in(rest) if name not in known]
        named = {"check": self.verbs[verb], "build": self.verbs[verb], "run": " ".join(programs.plain()),
                 "install-deps": (ROOT / "packages.txt").read_text(encoding="utf-8")}.get(verb)
        words = [word for word in rest if re.fullmatch(r"[a-z][\w-]*", word)]
        words = words[:1] if verb in ("build", "run") else words
        return wrong + [f"./dev {verb}: there is no {word}" for word in words
                        if named and not re.search(rf"(?m)(^|\s){re.escape(word)}($|[\s,])", named)]

    def of_program(self, verb: str, words: list[str], programs: "Programs") -> list[str]:
        if verb == "demo":
            return programs.problems("es_train", words)
        if not words or not re.fullmatch(r"[a-z_]+", words[0]):
            return []
        what = words[0]
        if not re.search(rf"\b{what}\b", self.verbs["train"]):
            return [f"./dev train {what}: ./dev --help names no such program"]
        return programs.problems("es_train" if what in ("es", "ars") else what, words[1:])


class Programs:
    """The examples and the programs of a build."""

    def __init__(self, folder: Path):
        self.folder = folder
        sources = [*(ROOT / "examples").rglob("*.cpp"), *(ROOT / "programs").glob("*.cpp")]
        self.names = {path.stem for path in sources} | set(SAME_OPTIONS)

    def plain(self) -> list[str]:
        return [path.stem for path in (ROOT / "examples").glob("*.cpp")]

    def problems(self, name: str, words: list[str]) -> list[str]:
        program = next((path for part in ("examples", "programs")
                        for path in (self.folder / part).glob(f"**/{SAME_OPTIONS.get(name, name)}") if path.is_file()), None)
        if not options_in(words) or not program:
            return []  # Not in this build: LibTorch is missing, for instance.
        known = names_in_help(str(program))
        wrong = [f"{name}: --help names no {option}" for option in options_in(words) if option not in known]
        if wrong or name in SAME_OPTIONS or unfinished(words):
            return wrong
        return values(name, str(program), words)


def unfinished(words: list[str]) -> bool:
    """Whether a command is only a part, or has placeholders: what it is given can't be read."""
    return any(re.search(r"\.\.\.|[<$|\]]|^(?:--[\w-]+=)?[A-Z_]+$", word) for word in words)


def values(name: str, *command) -> list[str]:
    """What a command line of CLI11 says of the values behind --help, which starts nothing."""
    *program, words = command
    done = output(*program, "--help", *words)
    if done.returncode == 0 or re.search(r"required \S+ missing", done.stdout):  # Only a part of a command.
        return []
    return [f"{name}: {done.stdout.strip()}"]


class Fiber:
    def __init__(self, fiber: str):
        self.fiber = fiber
        self.verbs = set(re.findall(r"(?m)^  ([a-z]+) ", output(fiber, "--help").stdout))

    def problems(self, words: list[str], programs: Programs) -> list[str]:
        if not words or not re.fullmatch(r"[a-z]{2,}", words[0]):
            names = names_in_help(self.fiber)
            return [f"fiber: --help names no {name}" for name in options_in(words[:1]) if name not in names]
        verb = words[0]
        if verb not in self.verbs:
            return [f"fiber: there is no verb {verb}"]
        end = words.index("--") if "--" in words else len(words)
        rest, program = words[1:end], words[end + 1:]
        known = names_in_help(self.fiber, verb)
        wrong = [f"fiber {verb}: --help names no {name}" for name in options_in(rest) if name not in known]
        if not wrong and rest and not unfinished(rest):
            wrong = values(f"fiber {verb}", self.fiber, verb, rest)
        return wrong + (programs.problems(Path(program[0]).name, program[1:]) if program else [])


def cmake_problems(words: list[str]) -> list[str]:
    configured = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
    presets = {preset["name"] for preset in configured}
    given = [after for word, after in zip(words, words[1:]) if word == "--preset"]
    return [f"cmake: there is no preset {name}" for name in given if name not in presets and name.islower()]


def tree_problems(word: str) -> list[str]:
    """Whether a file of the tree or of a build exists that a command names."""
    built = re.fullmatch(r"build/[a-z0-9]+/((?:examples|programs|bench|tests)(?:/[\w.]+)*)/([\w-]+)", word)
    if built and "..." not in word:
        lists = [ROOT / built.group(1) / "CMakeLists.txt", *(ROOT / built.group(1)).parent.glob("CMakeLists.txt")]
        known = " ".join(path.read_text(encoding="utf-8") for path in lists if path.is_file())
        return [] if re.search(rf"\b{built.group(2)}\b", known) else [f"{word}: no target of this name"]
    plain = re.fullmatch(r"(?:\./)?([\w./-]+)", word)
    if plain and plain.group(1).startswith(TREE) and "..." not in word and not (ROOT / plain.group(1)).exists():
        return [f"{word}: there is no such file"]
    return []


class Checker:
    def __init__(self, fiber: str, build: Path):
        self.fiber = Fiber(fiber)
        self.programs = Programs(build)
        self.dev = Dev(output("bash", "./dev", "--help").stdout)
        self.count = 0

    def problems(self, command: str) -> list[str]:
        wrong = []
        for words in words_of(command):
            first, rest = words[0], words[1:]
            name = Path(first).name
            wrong += [problem for word in words for problem in tree_problems(word)]
            ours = first in ("fiber", "./dev", "cmake") or first.startswith((*TREE, "build/"))
            self.count += ours or name in self.programs.names
            if first == "fiber":
                wrong += self.fiber.problems(rest, self.programs)
            elif first == "./dev":
                wrong += self.dev.problems(rest, self.programs)
            elif first == "cmake":
                wrong += cmake_problems(rest)
            elif name in self.programs.names:
                wrong += self.programs.problems(name, rest)
        return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Lets the command lines read every command of the documentation.")
    parser.add_argument("--fiber", required=True, help="the command `fiber`")
    parser.add_argument("--build", required=True, type=Path, help="a build, with examples/ and programs/")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="default: all pages")
    options = parser.parse_args()
    checker = Checker(str(Path(options.fiber).absolute()), options.build.absolute())
    wrong = [f"{page}:{line}: {problem}" for page in options.pages or all_pages()
             for line, command in commands_of((ROOT / page).read_text(encoding="utf-8"))
             for problem in checker.problems(command)]
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"doc_options: {checker.count} commands of the pages are read by what they name")
    return 1 if wrong else 0


def all_pages() -> list[str]:
    """Those of the documentation, and those for who changes Fiber."""
    return [*pages(), "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "bench/rl/README.md",
            "tests/clusters/kubernetes/README.md"]


if __name__ == "__main__":
    sys.exit(main())
