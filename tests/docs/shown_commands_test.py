"""The runner of shown commands finds what it is there to find."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import shown_commands


class ShownCommands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "project"
        (self.root / "docs").mkdir(parents=True)
        self.program = pathlib.Path(folder.name) / "program"
        self.program.write_text("#!/bin/sh\necho \"$@\"\n[ \"$1\" != fail ]\n")
        self.program.chmod(0o755)

    def run_page(self, text, *more):
        self.page = self.root / "docs" / "page.md"
        self.page.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            return shown_commands.main(self.root, self.program, *more), said.getvalue()

    def test_a_command_that_succeeds_passes(self):
        self.assertEqual(self.run_page("```sh\n./dev run x.yaml\n```\n")[0], 0)

    def test_a_command_that_fails_is_told_with_its_line(self):
        code, said = self.run_page("words\n\n```sh\nservecast fail\n```\n")
        self.assertEqual(code, 1)
        self.assertIn("docs/page.md:4: exit status 1", said)

    def test_output_that_differs_from_what_is_shown_is_told(self):
        page = "```sh\n./dev cli list models\n```\n\n```text\nlist devices\n```\n"
        code, said = self.run_page(page)
        self.assertEqual(code, 1)
        self.assertIn("printed: list models", said)

    def test_update_writes_what_was_printed(self):
        page = "```sh\n./dev cli list models\n```\n\n```text\nlist devices\n```\n"
        self.assertEqual(self.run_page(page, "--update")[0], 0)
        self.assertIn("```text\nlist models\n```", self.page.read_text())
        self.assertEqual(self.run_page(self.page.read_text())[0], 0)

    def test_a_text_block_after_words_is_not_compared(self):
        self.assertEqual(self.run_page("```sh\nservecast x\n```\nA tree:\n```text\ny\n```\n")[0], 0)

    def test_lines_that_install_or_test_are_left_out(self):
        page = "```sh\ngit clone x\ncd servecast\nsudo apt-get update\n./dev test unit\nservecast x\n```\n"
        self.assertEqual(self.run_page(page)[0], 0)

    def test_other_fences_are_not_run_and_nothing_run_is_a_failure(self):
        self.assertEqual(self.run_page("```yaml\nservecast: fail\n```\n")[0], 1)

    def test_blocks_of_a_page_share_a_working_copy_that_is_not_the_tree(self):
        page = "```sh\nservecast y > docs/made.txt\n```\n```sh\ngrep -q y docs/made.txt\n```\n"
        self.assertEqual(self.run_page(page)[0], 0)
        self.assertFalse((self.root / "docs" / "made.txt").exists())

    def test_data_that_is_not_there_is_told_and_not_an_error(self):
        code, said = self.run_page("```sh\nservecast a\n```\n```sh\nservecast fail ../shared/x\n```\n")
        self.assertEqual(code, 0)
        self.assertIn("skipped, ../shared/ is not beside this tree", said)

    def test_an_experiment_over_data_that_is_not_there_is_told_and_not_an_error(self):
        (self.root / "experiments").mkdir()
        (self.root / "experiments" / "far.yaml").write_text("trace: ../../shared/data/x.csv\n")
        code, said = self.run_page("```sh\nservecast a\n```\n```sh\nservecast fail experiments/far.yaml\n```\n")
        self.assertEqual(code, 0)
        self.assertIn("skipped", said)


if __name__ == "__main__":
    unittest.main()
