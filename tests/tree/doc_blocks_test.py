#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C++ of a page is found and put into its frame, and a block that is wrong is named with its file and line."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import doc_blocks

PAGE = """# A page

```cpp
int twice(int x) { return 2 * x; }
```

Text.

<!-- continues: int use(int y) { ...
} -->
```cpp
return twice(y);
```

<!-- global -->
```cpp
struct Everywhere {};
```

<!-- not compiled: MPI -->
```cpp
MPI_Init(
```

```python
no_cpp = 1
```
"""


class Blocks(unittest.TestCase):
    def test_the_marks_of_the_project_are_right(self):
        for page in doc_blocks.pages():
            text = (doc_blocks.ROOT / page).read_text(encoding="utf-8")
            self.assertEqual(doc_blocks.problems(doc_blocks.blocks_of(page, text)), [])

    def blocks(self, text=PAGE):
        return doc_blocks.blocks_of("docs/page.md", text)

    def compiled(self, blocks):
        """What the compiler says of the blocks without Fiber's headers, which would take its time."""
        unit = "\n".join(line for line in doc_blocks.unit_of(blocks).split("\n") if not line.startswith("#include"))
        unit = unit.replace("using namespace std::chrono_literals;", "")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "unit.cpp")
            path.write_text(unit, encoding="utf-8")
            return subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", str(path)],
                                  capture_output=True, text=True, check=False).stderr

    def test_each_block_of_cpp_is_found_with_its_line(self):
        self.assertEqual([block.line for block in self.blocks()], [4, 12, 17, 22])

    def test_the_blocks_of_a_page_compile_in_their_frames(self):
        self.assertEqual(doc_blocks.problems(self.blocks()), [])
        self.assertEqual(self.compiled(self.blocks()), "")

    def test_a_wrong_block_is_named_with_its_file_and_line(self):
        wrong = PAGE.replace("return twice(y);", "int z = twice(y);\nreturn thrice(z);")
        self.assertRegex(self.compiled(self.blocks(wrong)), "docs/page.md:13:8: error: .thrice")

    def test_a_wrong_frame_is_named_with_its_line(self):
        wrong = PAGE.replace("{ ...\n}", "{ ...\n} nonsense")
        self.assertIn("docs/page.md:10:", self.compiled(self.blocks(wrong)))

    def test_equal_names_in_two_blocks_do_not_meet(self):
        self.assertEqual(self.compiled(self.blocks("```cpp\nint f();\n```\n\n```cpp\ndouble f();\n```\n")), "")

    def test_code_of_others_needs_a_reason(self):
        (problem,) = doc_blocks.problems(self.blocks("<!-- not compiled: -->\n```cpp\nx\n```\n"))
        self.assertIn("docs/page.md:3: 'not compiled' needs a reason", problem)

    def test_nothing_can_continue_the_first_block(self):
        (problem,) = doc_blocks.problems(self.blocks("<!-- continues -->\n```cpp\nint x;\n```\n"))
        self.assertIn("docs/page.md:3: there is no block", problem)

    def test_a_comment_further_up_is_no_frame(self):
        (block,) = self.blocks("<!-- frame: int x; -->\n\nText.\n\n```cpp\nint y;\n```\n")
        self.assertEqual((block.kind, block.frame), ("", ""))

    def test_includes_stand_before_all_blocks(self):
        unit = doc_blocks.unit_of(self.blocks("```cpp\n#include <set>\n#include \"mine.hpp\"\nstd::set<int> x;\n```\n"))
        self.assertLess(unit.index("#include <set>"), unit.index("namespace block_0"))
        self.assertNotIn("mine.hpp", unit)


if __name__ == "__main__":
    unittest.main()
