# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings of the site. ./dev docs passes the sources, which docs/site/stage.py has laid out."""

import fnmatch
import os
import re
import shutil
import sys
from pathlib import Path

from docutils import nodes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from stage import title_of

project = "Fiber for C++"
author = "the authors of Fiber for C++"
version = re.search(r"project\(\s*fiber\s+VERSION\s+([\d.]+)", (ROOT / "CMakeLists.txt").read_text("utf-8")).group(1)
release = version

extensions = ["myst_parser", "breathe"]
root_doc = "docs/README"
highlight_language = "text"
primary_domain = "cpp"

myst_heading_anchors = 4
myst_enable_extensions = []

breathe_projects = {"fiber": str(ROOT / "build/docs/doxygen/xml")}
breathe_default_project = "fiber"
cpp_id_attributes = []

html_theme = "furo"
html_title = f"Fiber for C++ {version}"
html_static_path = [str(HERE / "theme.js")]
html_js_files = ["theme.js"]
html_extra_path = [str(HERE / "index.html")]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_use_index = True
pygments_style = "friendly"
pygments_dark_style = "monokai"


def add_contents(app, name, source):
    """The first page carries the table of contents of the site, which its Markdown need not show."""
    if name != root_doc:
        return
    lines = (HERE / "contents.md").read_text(encoding="utf-8").splitlines()
    folder = str(Path(root_doc).parent)
    # A pattern may name pages that are to come.
    source[0] += "\n" + "\n".join(
        line for line in lines
        if "*" not in line or fnmatch.filter(app.env.found_docs, os.path.normpath(f"{folder}/{line}"))
    )


def link_pages(app, document):
    """Comments of headers name pages by their path: docs/reference/errors.md. There these become links with titles."""
    if not app.env.docname.startswith("docs/api/"):
        return
    for text in list(document.findall(nodes.Text)):
        parts = re.split(r"(docs/[\w/-]+\.md)", text.astext())
        if len(parts) == 1:
            continue
        new = []
        for part in parts:
            name = part[: -len(".md")]
            if part.endswith(".md") and name in app.env.found_docs:
                target = app.builder.get_relative_uri(app.env.docname, name)
                title = title_of((ROOT / part).read_text(encoding="utf-8")).replace("`", "") or part
                new.append(nodes.reference("", title, refuri=target, internal=True))
            elif part:
                new.append(nodes.Text(part))
        text.parent.replace(text, new)


def own_the_reset(app, error):
    """Debian's Furo imports normalize.css from the web server of the machine. The site has its own copy."""
    style = Path(app.outdir, "_static/styles/furo.css")
    text = style.read_text(encoding="utf-8") if style.is_file() else ""
    imported = re.search(r"@import url\((/javascript/([^)]+))\);", text)
    if error or not imported:
        return
    shutil.copy(Path("/usr/share/javascript", imported.group(2)), style.parent)
    style.write_text(text.replace(imported.group(1), Path(imported.group(2)).name), encoding="utf-8")


def setup(app):
    app.connect("build-finished", own_the_reset)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", link_pages)
    return {"parallel_read_safe": True}
