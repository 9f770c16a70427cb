#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links of the documentation lead somewhere, the reference has each public header, and the checks see where not."""

import re
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))

import check_links
import group_header
import reference
import stage

HEADER = """#pragma once
namespace fiber {
class Box {
  friend Lid lid_of(const Box&);
  template <class T>
  void put(T item);
};
template <class T>
void Box::put(T item) {
  take(item);
}
} // namespace fiber
"""


class Site(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_links_of_the_project_lead_somewhere_and_its_headers_are_in_the_reference(self):
        self.assertEqual(stage.Stage(self.folder).fill(), [])

    def test_a_link_that_leads_nowhere_is_named_with_its_line(self):
        site = stage.Stage(self.folder)
        site.target_of("docs/reference/errors.md", 7, "ring.md#when-a-member-dies")
        site.target_of("docs/reference/errors.md", 8, "rings.md")
        self.assertEqual(site.wrong, ["docs/reference/errors.md:8: the link rings.md leads nowhere"])

    def test_a_link_to_a_file_of_the_tree_leads_to_a_page_that_shows_it(self):
        site = stage.Stage(self.folder)
        self.assertEqual(site.target_of("docs/reference/errors.md", 1, "../../examples/pi.cpp"), "../../examples/pi.cpp.source.md")
        self.assertEqual(site.target_of("docs/reference/errors.md", 1, "../rl"), "../rl/README.md")

    def test_a_link_to_a_page_shows_the_title_and_not_the_name_of_a_file(self):
        site = stage.Stage(self.folder)
        site.page("docs/reference/errors.md")
        self.assertEqual(site.label_of("README.md", "docs/reference/cli.md", "docs/reference/cli.md"), "The command `fiber`")
        self.assertEqual(site.label_of("docs/reference/errors.md", "`cli.md`", "cli.md"), "The command `fiber`")
        self.assertEqual(site.label_of("README.md", "configuration.md", "docs/reference/configuration.md#chaos"), "Chaos")
        for label, link in (("the command", "docs/reference/cli.md"), ("examples/pi.cpp", "examples/pi.cpp"),
                            ("and/or", "docs/reference/cli.md")):
            self.assertEqual(site.label_of("README.md", label, link), label)
        self.assertNotEqual(site.label_of("README.md", "docs/", "docs/README.md"), "docs/")

    def test_no_link_to_a_page_of_the_site_shows_the_name_of_a_file(self):
        stage.Stage(self.folder).fill()
        left = [(path.name, label) for path in self.folder.rglob("*.md") if not path.name.endswith(".source.md")
                for label in re.findall(r"\[`?([\w./-]+\.md)`?\]\([\w./-]+\.md", path.read_text(encoding="utf-8"))]
        self.assertEqual(left, [])

    def test_titles_and_headings_of_sections_are_found_but_not_comments_in_code(self):
        text = "<!-- x -->\n```sh\n# no title\n```\n# The `a` b\n\n## With (c), d\n"
        self.assertEqual(stage.title_of(text), "The `a` b")
        self.assertEqual(stage.title_of(text, "with-c-d"), "With (c), d")
        self.assertEqual(stage.title_of(text, "other"), "")

    def test_links_in_code_are_no_links(self):
        self.assertEqual([link for _, _, link in stage.links_of("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n")],
                         ["b.md"])
        self.assertEqual([link for _, _, link in stage.links_of("`on\ntwo lines` [a](b.md) `c`\n")], ["b.md"])

    def test_a_header_without_a_page_is_found(self):
        header = self.folder / "libfiber/fiber/new.hpp"
        header.parent.mkdir(parents=True)
        for folder in ("base/fiber", "rl/fiber"):
            (self.folder / folder).mkdir(parents=True)
        header.touch()
        self.assertIn("docs/site/reference.py: fiber/new.hpp is on no page", reference.problems(self.folder))

    def test_the_group_of_a_header_does_not_depend_on_the_folder_of_the_clone(self):
        self.assertEqual(group_header.group_of("rl/fiber/rl/vec_env.hpp"), "fiber_rl_vec_env")
        with unittest.mock.patch.object(group_header, "ROOT", Path("/home/me/fiber")):
            self.assertEqual(group_header.group_of("/home/me/fiber/base/fiber/value.hpp"), "fiber_value")

    def test_a_header_is_one_group_without_friends_and_without_definitions_outside_of_classes(self):
        seen = group_header.grouped(HEADER, group_header.group_of("libfiber/fiber/box.hpp"))
        self.assertIn("namespace fiber {\n/// @addtogroup fiber_box\n/// @{\n", seen)
        self.assertIn("/// @}\n} // namespace fiber", seen)
        self.assertIn("void put(T item);", seen)
        self.assertNotIn("friend", seen)
        self.assertNotIn("take(item)", seen)

    def test_places_and_files_that_the_site_lacks_are_found(self):
        (self.folder / "a.html").write_text('<p id="x"><a href="b.html#y">.</a><a href="#x">.</a><a href="c.html">.</a>'
                                            '<img src="https://example.org/i.png">', encoding="utf-8")
        (self.folder / "b.html").write_text('<p id="z">', encoding="utf-8")
        (self.folder / "s.css").write_text("@import url(/far.css);", encoding="utf-8")
        self.assertEqual(check_links.problems(self.folder), [
            "a.html:1: fetches https://example.org/i.png from elsewhere",
            "a.html:1: there is no #y in b.html",
            "a.html:1: c.html leads to no file",
        ])
        self.assertEqual(check_links.style_problems(self.folder),
                         ["s.css: fetches /far.css, which the site does not have"])


if __name__ == "__main__":
    unittest.main()
