"""Each layout rule fails on a planted violation and passes without it."""

import pathlib
import tempfile
import unittest

import file_rules
import include_direction


class PlantedTree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.plant("sim/time.hpp", "#pragma once\n#include <chrono>\n")
        self.plant("policies/orca.hpp", '#pragma once\n#include "sim/time.hpp"\n')

    def plant(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def test_a_clean_tree_passes(self):
        self.assertEqual(include_direction.problems(self.root), [])
        self.assertEqual(file_rules.problems(self.root), [])

    def assert_include_problem(self, path, line, problem):
        self.plant(path, line + "\n")
        self.assertEqual(include_direction.problems(self.root), [f"{path}:1: {problem}"])

    def test_an_include_against_the_arrows_fails(self):
        self.assert_include_problem("sim/engine.cpp", '#include "policies/orca.hpp"', "sim must not include policies")

    def test_a_package_in_the_wrong_folder_fails(self):
        self.assert_include_problem("sim/engine.cpp", "#include <nlohmann/json.hpp>", "sim must not include nlohmann/json")

    def test_a_package_in_a_header_fails(self):
        self.assert_include_problem(
            "costmodel/model.hpp",
            "  #  include <nlohmann/json.hpp>",
            "package header <nlohmann/json.hpp> belongs in a .cpp, not in a header",
        )

    def test_an_unknown_package_fails(self):
        self.assert_include_problem(
            "sim/engine.cpp", "#include <zlib.h>", "<zlib.h> belongs to no package of the table in include_direction.py"
        )

    def test_a_relative_include_fails(self):
        self.assert_include_problem("sim/time.cpp", '#include "time.hpp"', '"time.hpp": write the path from the root')

    def test_a_missing_header_fails(self):
        self.assert_include_problem("sim/time.cpp", '#include "sim/clock.hpp"', '"sim/clock.hpp" does not exist')

    def test_a_folder_outside_the_table_fails(self):
        self.plant("utils/all.cpp", "\n")
        self.assertEqual(len(include_direction.problems(self.root)), 1)

    def test_a_file_may_have_400_lines_and_no_more(self):
        self.plant("sim/long.cpp", "\n" * 400)
        self.assertEqual(file_rules.problems(self.root), [])
        self.plant("sim/long.cpp", "\n" * 401)
        self.assertEqual(file_rules.problems(self.root), ["sim/long.cpp: 401 lines, the limit is 400"])

    def test_tabs_and_leftovers_fail(self):
        leftovers = ("\tint x;", "// TODO: later", "// FIXME", 'open("/home/data")', "int x;  // NOLINT", "<<<<<<< HEAD")
        for line in leftovers:
            with self.subTest(line=line):
                self.plant("sim/left.cpp", line + "\n")
                self.assertEqual(len(file_rules.problems(self.root)), 1)

    def test_relative_paths_and_urls_are_no_leftovers(self):
        self.plant("sim/fine.cpp", '// see https://example.org/home/ and "/../shared/data" and tests/root/x\n')
        self.assertEqual(file_rules.problems(self.root), [])


if __name__ == "__main__":
    unittest.main()
