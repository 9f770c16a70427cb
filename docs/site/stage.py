#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out what Sphinx reads, in the layout of the tree: the Markdown pages as they are, a page for each file of the
tree that they link to, and the pages of the reference. Says which links lead nowhere.

usage: stage.py FOLDER    exit code 1 if a link, or a header of the reference, is missing
"""

import re
import subprocess
import sys
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parents[2]
LEXERS = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".cmake": "cmake", ".json": "json", ".yaml": "yaml"}
CODE = re.compile(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$|`(?:[^`\n]|\n(?! *\n))+`")
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FAR = re.compile(r"[a-z]+:")
FILE_NAME = re.compile(r"`?([\w./-]+)`?")
HEADING = re.compile(r"(?m)^#+ +(.+?) *$")


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def pages_of(files: list[str]) -> list[str]:
    """What the site consists of: docs/, the pages of the root and of bench/."""
    return [name for name in files if name.endswith(".md") and not name.startswith("docs/site/")
            and (name.startswith(("docs/", "bench/")) or "/" not in name)]


def links_of(text: str) -> list[tuple[int, int, str]]:
    """Where each link to a file begins and ends, and its target. Code has no links."""
    code = [match.span() for match in CODE.finditer(text)]
    return [(*match.span(), match.group()) for match in LINK.finditer(text)
            if not FAR.match(match.group()) and not match.group().startswith("#")
            and not any(begin <= match.start() < end for begin, end in code)]


def slug_of(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def title_of(text: str, anchor: str = "") -> str:
    """The title of a page, or the heading of one of its sections; empty if it has none."""
    headings = HEADING.findall(CODE.sub(lambda code: code.group() if code.group(1) is None else "", text))
    return next((heading for heading in headings if not anchor or slug_of(heading) == anchor), "")


class Stage:
    def __init__(self, folder: Path):
        self.folder = folder
        self.files = tracked()
        self.known = set(self.files)
        self.pages = set(pages_of(self.files))
        self.wrong: list[str] = []
        self.shown: set[str] = set()
        self.written: set[Path] = set()

    def target_of(self, page: str, line: int, link: str) -> str:
        """The link as Sphinx needs it: to a page, if need be to one of those that show a file or a folder."""
        path, mark, anchor = link.partition("#")
        at = (ROOT / page).parent / path
        target = at.resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            self.wrong.append(f"{page}:{line}: the link {link} leads nowhere")
            return link
        name = target.relative_to(ROOT).as_posix()
        if target.is_dir() and f"{name}/README.md" in self.pages:
            return f"{path.rstrip('/')}/README.md{mark}{anchor}"
        if name in self.pages or target.suffix in (".png", ".svg"):
            return link
        if target.is_file() and name not in self.known:
            self.wrong.append(f"{page}:{line}: {link} is no file of the project")
        self.shown.add(name)
        return f"{path.rstrip('/')}.source.md"

    def label_of(self, page: str, label: str, link: str) -> str:
        """What a link to a page shows: instead of the name of a file, the title that the page or its section has."""
        path, _, anchor = link.partition("#")
        named = FILE_NAME.fullmatch(label)
        at = ((ROOT / page).parent / path).resolve()
        target = at / "README.md" if at.is_dir() else at
        if not named or not target.is_relative_to(ROOT) or target.relative_to(ROOT).as_posix() not in self.pages:
            return label
        names = (ROOT / named.group(1), (ROOT / page).parent / named.group(1))
        if not named.group(1).endswith(".md") and not ("/" in label and any(name.exists() for name in names)):
            return label
        text = target.read_text(encoding="utf-8")
        return title_of(text, anchor) or title_of(text) or label

    def write(self, name: str, content: bytes) -> None:
        """Leaves a file alone that is so already: Sphinx reads again what is newer."""
        target = self.folder / name
        self.written.add(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != content:
            target.write_bytes(content)

    def page(self, name: str) -> None:
        text = (ROOT / name).read_text(encoding="utf-8")
        parts, end = [], 0
        for begin, stop, link in links_of(text):
            label = text.rfind("[", end, begin) + 1
            parts += [text[end:label], self.label_of(name, text[label:begin - 2], link), "](",
                      self.target_of(name, text.count("\n", 0, begin) + 1, link)]
            end = stop
        self.write(name, ("".join(parts) + text[end:]).encode())

    def source(self, name: str) -> None:
        """A page that shows a file, or names the files of a folder."""
        path = ROOT / name
        title = f"---\norphan: true\n---\n# {name}\n\n"
        if path.is_dir():
            inside = [file for file in self.files if file.startswith(f"{name}/")]
            self.write(f"{name}.source.md", (title + "".join(f"- `{file}`\n" for file in inside)).encode())
            return
        text = path.read_text(encoding="utf-8")
        lexer = LEXERS.get(path.suffix, "text")
        self.write(f"{name}.source.md", f"{title}`````{lexer}\n{text.rstrip()}\n`````\n".encode())

    def images(self) -> None:
        for name in self.files:
            if name.endswith((".png", ".svg")) and name.startswith(("docs/", "bench/")):
                self.write(name, (ROOT / name).read_bytes())

    def fill(self) -> list[str]:
        for name in sorted(self.pages):
            self.page(name)
        for name in sorted(self.shown):
            self.source(name)
        self.images()
        for name, text in reference.pages().items():
            self.write(f"docs/api/{name}.rst", text.encode())
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.written:
                path.unlink()
        return self.wrong + reference.problems(ROOT)


def main() -> int:
    folder = Path(sys.argv[1])
    wrong = Stage(folder).fill()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
