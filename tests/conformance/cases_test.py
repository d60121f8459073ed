#!/usr/bin/python3
"""What `./dev conformance` decides by itself: lists, verdicts, crashes, wheels. Needs neither `onnx` nor a network."""

import io
import json
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cases import lists, options, progress, report, runner, verdicts, wheels  # the standard library alone

SETTINGS = ("interp", "jit:2")

# A runner that says `pass` for every case, and dies of the cases that are called so.
FAKE = """#!/usr/bin/python3
import json, os, sys
for folder in sys.argv[2:]:
    name = os.path.basename(folder)
    if name.startswith("refused"):
        print(json.dumps({"case": name, "setting": "import", "verdict": "refused", "slug": "unsupported-operator"}))
        continue
    if name == "dies-early":
        os.abort()
    print(json.dumps({"case": name, "setting": "interp", "verdict": "pass"}), flush=True)
    if name == "dies-late":
        print('{"case": "dies-la', end="", flush=True)
        os.abort()
    print(json.dumps({"case": name, "setting": "jit:2", "verdict": "pass"}))
print(json.dumps({"setting": "jit:2", "seconds": 0.5}))
"""


def case(name="test_abs", **said):
    """A case with verdicts: interp="pass", jit_2="wrong"."""
    out = verdicts.Case(name, "Abs")
    for setting, verdict in said.items():
        out.said[setting.replace("_", ":")] = verdicts.Said(verdict, slug="some-slug", reason="some reason")
    return out


class ListsTest(unittest.TestCase):
    def test_what_is_written_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "passes.txt"
            lists.write(path, "a title", {"b", "a"})
            self.assertEqual(path.read_text(encoding="utf-8"), "# a title\na\nb\n")
            self.assertEqual(lists.read(path), {"a", "b"})
            self.assertEqual(lists.read(Path(folder) / "none.txt"), set())

    def test_a_list_that_says_what_happened_is_no_difference(self):
        self.assertFalse(lists.compare({"a"}, {"a", "b"}, {"a"}, is_part=False))

    def test_each_way_to_differ(self):
        found = lists.compare({"lost", "gone"}, {"lost", "gained"}, {"gained"}, is_part=False)
        self.assertTrue(found)
        self.assertEqual((found.lost, found.gone, found.gained), (["lost"], ["gone"], ["gained"]))

    def test_a_part_says_nothing_of_other_cases(self):
        self.assertFalse(lists.compare({"a", "other"}, {"a"}, {"a"}, is_part=True))
        self.assertTrue(lists.compare({"a", "other"}, {"a"}, set(), is_part=True))

    def test_the_lists_of_the_project_are_sorted_and_each_name_is_there_once(self):
        for name in ("onnx_passes.txt", "onnx_open_passes.txt", "onnx_models.txt"):
            lines = (HERE / name).read_text(encoding="utf-8").splitlines()[1:]
            self.assertEqual(lines, sorted(set(lines)), name)
            self.assertGreater(len(lines), 10, name)
        exported = (HERE / "onnx_exported.txt").read_text(encoding="utf-8").splitlines()[1:]
        self.assertEqual(exported, sorted(set(exported)))


class VerdictsTest(unittest.TestCase):
    def test_wrong_anywhere_is_wrong(self):
        self.assertEqual(case(interp="pass", jit_2="wrong").verdict(SETTINGS), "wrong")
        self.assertEqual(case(interp="refused", jit_2="wrong").verdict(SETTINGS), "wrong")

    def test_refused_anywhere_is_refused(self):
        self.assertEqual(case(interp="pass", jit_2="refused").verdict(SETTINGS), "refused")
        self.assertEqual(case(**{"import": "refused"}).verdict(SETTINGS), "refused")

    def test_an_engine_that_is_not_for_it_may_skip_it(self):
        self.assertEqual(case(interp="pass", jit_2="skipped").verdict(SETTINGS), "pass")

    def test_a_case_that_was_not_tried_everywhere_is_no_pass(self):
        with self.assertRaisesRegex(RuntimeError, "test_abs has no verdict of jit:2"):
            case(interp="pass").verdict(SETTINGS)

    def test_lines_are_entered_and_counted(self):
        cases = {"test_abs": verdicts.Case("test_abs", "Abs")}
        seconds = Counter()
        verdicts.add_lines(
            cases,
            [
                {"case": "test_abs", "setting": "interp", "verdict": "wrong", "reason": "got 1, wanted 2"},
                {"setting": "jit:2", "seconds": 1.5},
                {"setting": "jit:2", "seconds": 2},
            ],
            seconds,
        )
        self.assertEqual(seconds["jit:2"], 3.5)
        self.assertEqual(verdicts.tally(cases.values(), SETTINGS)["interp"]["wrong"], 1)
        self.assertEqual(report.wrong(list(cases.values())), ["test_abs (interp): got 1, wanted 2"])

    def test_refusals_are_counted_by_slug(self):
        cases = [case(**{"import": "refused"}), case("test_b", jit_2="refused"), case("test_c", interp="pass")]
        self.assertEqual([len(found) for found in verdicts.by_slug(cases).values()], [2])
        self.assertEqual(report.refusals(cases).split(), ["2", "some-slug:", "Abs", "2"])

    def test_the_table_has_a_line_for_each_engine(self):
        lines = report.table([case(interp="pass", jit_2="wrong")], SETTINGS, Counter({"jit:2": 2.0})).splitlines()
        self.assertEqual(lines[0].split(), ["pass", "skipped", "refused", "wrong", "seconds"])
        self.assertEqual(lines[2].split(), ["interp", "1", ".", ".", ".", "."])
        self.assertEqual(lines[3].split(), ["jit", "-O2", ".", ".", ".", "1", "2"])


class RunnerTest(unittest.TestCase):
    def run_fake(self, names):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "run_cases"
            program.write_text(FAKE, encoding="utf-8")
            program.chmod(0o755)
            lines = runner.Runner(program, HERE, SETTINGS).run([Path(folder) / name for name in names])
        cases = {name: verdicts.Case(name) for name in names}
        verdicts.add_lines(cases, lines, Counter())
        return {name: found.verdict(SETTINGS) for name, found in cases.items()}, cases

    def test_all_is_well(self):
        found, _ = self.run_fake(["a", "refused-1", "b"])
        self.assertEqual(found, {"a": "pass", "refused-1": "refused", "b": "pass"})

    def test_a_case_that_kills_the_runner_is_wrong_and_the_others_are_judged(self):
        found, cases = self.run_fake(["a", "dies-early", "b", "c", "dies-late"])
        self.assertEqual(found, {"a": "pass", "dies-early": "wrong", "b": "pass", "c": "pass", "dies-late": "wrong"})
        self.assertIn("exit -6", cases["dies-early"].said["import"].reason)
        self.assertEqual(cases["dies-late"].said["interp"].verdict, "pass")
        self.assertEqual(cases["dies-late"].said["jit:2"].verdict, "wrong")

    def test_no_case_is_no_process(self):
        self.assertEqual(runner.Runner(Path("/nonexistent"), HERE, SETTINGS).run([]), [])


class OptionsTest(unittest.TestCase):
    def test_a_list_is_not_rewritten_from_a_part(self):
        for words in (["--update", "--only", "abs"], ["--update", "--settings", "interp"]):
            with self.assertRaises(SystemExit), io.StringIO() as said:
                before, sys.stderr = sys.stderr, said
                try:
                    options.parse(words)
                finally:
                    sys.stderr = before

    def test_models_that_are_exported_are_a_part(self):
        self.assertEqual(options.parse(["exported", "--only", "mnist"]).what, "exported")
        self.assertIn("mnist_8", lists.read(HERE / "onnx_exported.txt"))

    def test_open_extents_are_for_engines_that_take_them(self):
        self.assertIn("graph:2", options.parse([]).settings)
        self.assertNotIn("graph:2", options.parse(["--open"]).settings)


class ProgressTest(unittest.TestCase):
    def test_nothing_is_shown_elsewhere_than_on_a_terminal(self):
        stream = io.StringIO()
        shown = progress.Progress("cases", 10, stream)
        shown.add(5)
        shown.end()
        self.assertEqual(stream.getvalue(), "")

    def test_the_time_that_is_left(self):
        self.assertEqual(progress.left(0, 10, 5), "")
        self.assertEqual(progress.left(5, 10, 30), ", 30 s left")
        self.assertEqual(progress.left(1, 11, 60), ", 10 min left")


class WheelsTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "wheels.toml"
            path.write_text('[[wheel]]\npackage = "p"\nversion = "1"\nkind = "k"\n[[wheel.model]]\n' + text)
            return wheels.read(path)

    def test_the_list_of_the_project_is_read(self):
        found = wheels.read(HERE / "wheels.toml")
        self.assertGreaterEqual(len(found), 15)
        names = [wheel.name_of(model) for wheel in found for model in wheel.models]
        self.assertEqual(len(names), len(set(names)))
        for wheel in found:
            for model in wheel.models:
                self.assertIn(model.runs(), (1, 3), model.file)

    def test_what_is_not_known_is_refused(self):
        with self.assertRaisesRegex(ValueError, "p has axis"):
            self.read('file = "m.onnx"\naxis = { n = [1] }\n')
        with self.assertRaisesRegex(ValueError, "peer_within needs peer_reason"):
            self.read('file = "m.onnx"\npeer_within = 1e-6\n')
        with self.assertRaisesRegex(ValueError, "different numbers of extents"):
            self.read('file = "m.onnx"\naxes = { n = [1, 2, 3], m = [1] }\n')


if __name__ == "__main__":
    unittest.main()
