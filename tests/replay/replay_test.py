#!/usr/bin/python3
"""What is printed, what is refused, and that any difference of two folders is found. Needs no compiler."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from replay import main, options, programs, texts

# In the place of `relay`: prints what it was asked for, refuses llvm and the pass `refused`, and crashes on functions
# called `bad`. With -o, it copies the model.
STAND_IN = """#!/usr/bin/python3
import os, sys
if "llvm" in sys.argv or "refused" in sys.argv:
    sys.stderr.write("relay: no llvm\\n")
    sys.exit(4)
if "-o" in sys.argv:
    open(sys.argv[sys.argv.index("-o") + 1], "w").write(open(sys.argv[3]).read())
if "bad" in sys.argv:
    os.abort()
print(" ".join(sys.argv[1:]))
print(open(sys.argv[3]).read())
"""

TEST = """RUN exec
A test.
---- input
def @main(%x: float32) { @other(%x) }
def @other(%x: float32) { %x }
---- calls
@main(1) == 1
"""


class Replay(unittest.TestCase):
    """A checkout with one test of programs, and a folder for what is printed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.test = self.root / "tests" / "exec" / "lang" / "one.relay"
        self.test.parent.mkdir(parents=True)
        self.test.write_text(TEST, encoding="utf-8")
        (self.root / "bench" / "zoo").mkdir(parents=True)
        (self.root / "bench" / "zoo" / "catalogue.py").write_text(
            'X = (\n    Network("lenet", lenet, 3),\n)\n', encoding="utf-8"
        )
        self.relay = self.root / "relay"
        self.relay.write_text(STAND_IN, encoding="utf-8")
        self.relay.chmod(0o755)
        patch = mock.patch.object(programs, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def run_with(self, folder, *parts, before=None):
        """The exit code, and all that is said."""
        given = options.Options(
            self.root / folder, self.root / before if before else None, self.relay, parts or ("exec/",), 2
        )
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main.run(given)
        return code, said.getvalue()

    def test_finds_networks_and_tests(self):
        self.assertEqual([p.path for p in programs.all_programs()], ["exec/lang/one", "network/lenet"])

    def test_prints_each_function_for_each_target(self):
        code, said = self.run_with("a")
        self.assertEqual(code, 0, said)
        folder = self.root / "a" / "exec" / "lang" / "one"
        text = (folder / "other.avx512.O2.cpp").read_text(encoding="utf-8")
        self.assertIn("compile program.relay --emit cpp --target avx512 -O2 --function other", text)
        self.assertIn("def @main", text)
        self.assertNotIn("@main(1) == 1", text)
        names = {p.name for p in folder.iterdir()}
        self.assertLessEqual({"main.cuda-sm_90.O2.cuda", "aarch64.O2.kernel", "aarch64.O2.llvm"}, names)

    def test_layers_of_tests_with_small_integers(self):
        self.test.write_text(TEST.replace("float32", "int8"), encoding="utf-8")
        code, said = self.run_with("a")
        self.assertEqual(code, 0, said)
        text = (self.root / "a" / "exec" / "lang" / "one" / "other.vta.O2.vta").read_text(encoding="utf-8")
        self.assertIn("compile program.relay --emit vta --target vta -O2 --function other", text)

    def quantised(self, passes):
        """The same for a program whose passes run first."""
        made = programs.Model(self.test, passes=passes)
        program = programs.Program("quantised", "one")
        with (
            mock.patch.object(programs, "write", lambda program, folder: made),
            mock.patch.object(programs, "chosen", lambda parts: [program]),
        ):
            return self.run_with("a", "quantised")

    def test_passes_run_before_layers_are_listed(self):
        code, said = self.quantised("quantise-global{scale=8}")
        self.assertEqual(code, 0, said)
        folder = self.root / "a" / "quantised" / "one"
        self.assertEqual({p.name for p in folder.iterdir()}, {"main.vta.O2.vta", "main.vta-batch-2.O2.vta"})
        text = (folder / "main.vta-batch-2.O2.vta").read_text(encoding="utf-8")
        self.assertIn("compile optimised.relay --emit vta --target vta{batch=2} -O2 --function main", text)
        self.assertIn("def @main", text)

    def test_passes_that_are_refused_are_a_failure(self):
        code, said = self.quantised("refused")
        self.assertEqual((code, "ended with 4" in said), (1, True), said)

    def test_a_refusal_is_a_text(self):
        code, said = self.run_with("a")
        self.assertEqual(code, 0, said)
        self.assertIn("2 say why relay refuses them", said)
        text = (self.root / "a" / "exec" / "lang" / "one" / "avx2.O2.llvm").read_text(encoding="utf-8")
        self.assertEqual(text, "exit code 4\nrelay: no llvm\n")

    def test_a_crash_is_a_failure(self):
        self.test.write_text(TEST.replace("@other", "@bad"), encoding="utf-8")
        code, said = self.run_with("a")
        self.assertEqual(code, 1)
        self.assertIn("2 commands failed", said)
        self.assertIn("bad.avx512.O2.cpp ended with -6", said)

    def test_the_same_program_gives_the_same_texts(self):
        self.run_with("a")
        self.run_with("b")
        code, said = self.run_with("b", before="a")
        self.assertEqual(code, 0, said)
        self.assertIn("11 texts are the same, 0 differ", said)

    def test_every_difference_is_found(self):
        self.run_with("a")
        self.run_with("b")
        folder = self.root / "b" / "exec" / "lang" / "one"
        changed = folder / "avx2.O2.kernel"
        changed.write_text(changed.read_text(encoding="utf-8").replace("float32", "float64", 1), encoding="utf-8")
        (folder / "avx2.O1.kernel").unlink()
        (folder / "new.cpp").write_text("", encoding="utf-8")
        code, said = self.run_with("b", before="a")
        self.assertEqual(code, 1)
        self.assertIn("exec/lang/one/avx2.O2.kernel: line 2", said)
        self.assertIn("+ def @main(%x: float64)", said)
        self.assertIn("avx2.O1.kernel: only in", said)
        self.assertIn("new.cpp: only in", said)
        self.assertIn("9 texts are the same, 1 differ, 2 are in one folder only", said)

    def test_a_carriage_return_is_a_difference(self):
        for name, text in (("a", b"x\n"), ("b", b"x\r\n")):
            (self.root / name).mkdir()
            (self.root / name / "x").write_bytes(text)
        code, said = self.run_with("b", before="a")
        self.assertEqual((code, "the ends of lines" in said), (1, True), said)

    def test_nothing_compared_is_not_the_same(self):
        (self.root / "a").mkdir()
        (self.root / "b").mkdir()
        self.assertEqual(self.run_with("b", before="a")[0], 1)

    def test_mistakes_of_the_command_line(self):
        self.run_with("a")
        code, said = self.run_with("a")
        self.assertEqual((code, "name a new folder" in said), (2, True), said)
        code, said = self.run_with("c", "exec/lang/oen")
        self.assertEqual((code, "no program is called like `exec/lang/oen`" in said), (2, True), said)
        code, said = self.run_with("a", before="missing")
        self.assertEqual((code, "there is no folder" in said), (2, True), said)

    def test_every_network_has_each_form_for_neon(self):
        names = {text.name for text in texts.texts(programs.Program("network", "x"), programs.Model(Path("x")))}
        self.assertLessEqual({"aarch64.O2.kernel", "aarch64.O2.llvm", "main.aarch64.O2.cpp"}, names)

    def test_names_of_texts_are_unique(self):
        model = programs.Model(Path("x"), (), ("main", "f"), integers=True)
        for kind in ("exec", "network", "quantised"):
            names = [text.name for text in texts.texts(programs.Program(kind, "x"), model)]
            self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
