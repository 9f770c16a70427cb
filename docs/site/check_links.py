#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the built site: each link and image to a page of it leads to a file and, with #anchor, to a place in it.

usage: check_links.py FOLDER    prints each link that leads nowhere, and each file that is fetched from elsewhere;
                                exit code 1 if there is one
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places of a page, and where it links to."""

    def __init__(self, path: Path):
        super().__init__()
        self.places: set[str] = set()
        self.links: list[tuple[int, str]] = []
        self.fetched: list[tuple[int, str]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.places.add(value)
            elif name == "href" and tag == "a":
                self.links.append((self.getpos()[0], value))
            elif name == "src" or (name == "href" and tag == "link"):
                self.fetched.append((self.getpos()[0], value))


def problems(folder: Path) -> list[str]:
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        wrong += [f"{name}:{line}: fetches {link} from elsewhere" for line, link in page.fetched
                  if urlsplit(link).netloc]
        for line, link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                wrong.append(f"{name}:{line}: {link} leads to no file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                wrong.append(f"{name}:{line}: there is no #{parts.fragment} in {parts.path or 'this page'}")
    return wrong


def style_problems(folder: Path) -> list[str]:
    """Style sheets fetch nothing from elsewhere either."""
    wrong = []
    for path in sorted(folder.rglob("*.css")):
        for link in re.findall(r"url\(\s*['\"]?([^)'\"]+)", path.read_text(encoding="utf-8")):
            if not link.startswith("data:") and not (path.parent / link.split("?")[0]).resolve().is_file():
                wrong.append(f"{path.relative_to(folder)}: fetches {link}, which the site does not have")
    return wrong


def main() -> int:
    folder = Path(sys.argv[1])
    wrong = problems(folder) + style_problems(folder)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
