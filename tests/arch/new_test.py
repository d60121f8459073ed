#!/usr/bin/python3
"""What `./dev new` writes is formatted, and the registries read its comments. `tests/templates` builds and runs it."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import sources


class NewTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for part in ("tools/new.sh",):
            (self.folder / part).parent.mkdir(exist_ok=True)
            shutil.copy(sources.ROOT / part, self.folder / part)
        shutil.copytree(sources.ROOT / "tools/templates", self.folder / "tools/templates")

    def new(self, *arguments):
        """The files that `./dev new` writes, or what it says."""
        ended = subprocess.run([self.folder / "tools/new.sh", *arguments], cwd=self.folder, capture_output=True, text=True)
        return ended.stdout.splitlines() if ended.returncode == 0 else ended.stderr

    def python(self, script, *arguments):
        command = ["/usr/bin/python3", sources.ROOT / script, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def formatted(self, path):
        tool = shutil.which("clang-format-19") or shutil.which("clang-format")
        if tool:
            style = f"--style=file:{sources.ROOT / '.clang-format'}"
            text = subprocess.run([tool, style, self.folder / path], check=True, capture_output=True, text=True).stdout
            self.assertEqual(text, (self.folder / path).read_text(encoding="utf-8"))

    def test_a_pass_is_two_files(self):
        self.assertEqual(self.new("pass", "some-name"), ["passes/some_name.cc", "tests/golden/passes/some_name.relay"])
        self.assertIn("RUN opt --passes=some-name\n", (self.folder / "tests/golden/passes/some_name.relay").read_text())
        self.formatted("passes/some_name.cc")

    def test_an_operator_is_three_files(self):
        files = ["op/nn/some_name.cc", "tests/exec/op/nn.some_name.relay", "tests/golden/typecheck/fail_nn.some_name_c1.relay"]
        self.assertEqual(self.new("op", "nn.some_name"), files)
        self.formatted("op/nn/some_name.cc")
        rules = self.python("bazel/op_rules.py", self.folder / files[0])
        self.assertIn('R"~(nn.some_name(x, least)[i] = max(x[i], least))~", R"~((Tensor[s, d]) -> Tensor[s, d])~", R"~(C1: d is floating.)~"', rules)
        example = self.python("bazel/op_examples.py", self.folder / files[1])
        self.assertIn("{ nn.some_name(%x, least=-0.5) }\n@main([1, -2, -0.25, nan]) == [1, -0.5, -0.25, nan]\n", example)
        golden = (self.folder / files[2]).read_text().splitlines()
        # What is underlined is the call, then its argument; the second place has the argument's column.
        *_, call, call_marks, place, argument, argument_marks, _ = golden
        self.assertEqual(call_marks, " " * call.index("nn.some_name") + "^" + "~" * (len("nn.some_name(%x)") - 1))
        self.assertEqual(argument_marks, " " * argument.rindex("%x") + "^~")
        self.assertEqual(place.split(":")[2], str(argument.rindex("%x") - 1))

    def test_nothing_is_left_to_fill_in(self):
        written = self.new("pass", "some-name") + self.new("op", "some_name") + self.new("op", "image.other")
        for path in written:
            text = (self.folder / path).read_text(encoding="utf-8")
            for blank in ("@NAME@", "@PATH@", "@STEM@", "@OVER@", "@UNDER@", "@COLUMN_OF_ARGUMENT@", "kTemplate", "TemplateAttrs"):
                self.assertNotIn(blank, text, path)

    def test_wrong_names_and_files_that_exist_are_refused(self):
        self.assertIn("is no pass name: say drop-casts", self.new("pass", "Drop_Casts"))
        self.assertIn("is no operator name: say nn.gelu", self.new("op", "nn.Gelu"))
        self.assertIn("new what?", self.new("engine", "fast"))
        self.new("pass", "some-name")
        self.assertIn("passes/some_name.cc is there already", self.new("pass", "some-name"))

    def test_if_one_file_exists_none_is_made(self):
        exec_test = self.folder / "tests/exec/op/add.relay"
        exec_test.parent.mkdir(parents=True)
        exec_test.write_text("of an operator that there is")
        self.assertIn("tests/exec/op/add.relay is there already", self.new("op", "add"))
        self.assertFalse((self.folder / "op").exists())
        golden = self.folder / "tests/golden/passes/some_name.relay"
        golden.parent.mkdir(parents=True)
        golden.write_text("of a pass that there is")
        self.assertIn("some_name.relay is there already", self.new("pass", "some-name"))
        self.assertFalse((self.folder / "passes").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
