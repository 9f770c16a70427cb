#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The length check finds what is too long, and nothing else."""

import unittest

import check_length

STATEMENTS = "".join(f"  f({n});\n" for n in range(check_length.FUNCTION_LINES))


class LongFunctions(unittest.TestCase):
    def found(self, text):
        return check_length.long_functions(text)

    def test_a_function_of_the_limit_passes(self):
        body = "  f();\n" * (check_length.FUNCTION_LINES - 2)
        self.assertEqual(self.found("void g() {\n" + body + "}\n"), [])

    def test_a_longer_function_is_found_at_its_first_line(self):
        (found,) = self.found("int before;\n\ntemplate <class T>\nvoid g(\n  T t) {\n" + STATEMENTS + "}\n")
        self.assertEqual(found, (3, check_length.FUNCTION_LINES + 4))

    def test_a_member_of_a_class_is_found(self):
        (found,) = self.found("namespace a {\nclass B : C {\n  void g() {\n" + STATEMENTS + "  }\n};\n}\n")
        self.assertEqual(found[0], 3)

    def test_a_long_class_behind_a_macro_is_no_function(self):
        members = "  int f();\n" * 100
        self.assertEqual(self.found("MACRO(a)\n\nstruct B {\n" + members + "};\n"), [])

    def test_braces_in_text_and_comments_do_not_count(self):
        body = '  f("{", \'{\'); // {\n' * 5
        self.assertEqual(self.found("void g() {\n" + body + "}\n" + "int x;\n" * 100), [])


if __name__ == "__main__":
    unittest.main()
