#!/usr/bin/python3
"""Places, their instrumented copies, and how a mutant is caught: on files of a few lines."""
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(os.path.realpath(__file__)).parent
sys.path.insert(0, str(HERE))

import draw  # noqa: E402
import equivalent  # noqa: E402
import places  # noqa: E402
import study  # noqa: E402
import tree  # noqa: E402

SOURCE = b"""\
// A comment, which is no place: a < b.
#include <cassert>
constexpr int kSize = 3;
static_assert(kSize == 3);
int difference(int a, int b) { return a - b; }
bool within(int i, int n) {
  assert(n - i + 10);
  if (i >= 0 && i < n) return true;
  return false;
}
int counted() {
  int n = 0;
  ++n;
  n += kSize;
  return difference(n, 2);
}
"""

MAIN = b"""
#include <cstdio>
int main() { std::printf("%d %d %d%d", counted(), difference(5, 3), within(2, 2), within(1, 2)); }
"""


# What prints kernels: two barriers, and a statement that is none.
PRINTER = b"""\
struct Out { void line(const char* text); };
struct Dialect { const char* barrier; };
void print(Out& out, const Dialect& dialect, bool often) {
  if (often) out.line(dialect.barrier);
  out.line("__syncthreads();");
  out.line("x");
}
"""

# Three zeros of one function, two of them in one line.
ZEROS = b"""\
int zeros(int a, int b) {
  if (a > 0) return 0;
  if (a > 0) return b;
  return a;
}
"""


def found(source):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.cc"
        path.write_bytes(source)
        return places.Reader([]).places(str(path))[1]


class PlacesTest(unittest.TestCase):
    def test_each_kind_is_found_and_nothing_else(self):
        self.assertEqual({(p.line, p.kind, p.text, p.wrong) for p in found(SOURCE)}, {
            (5, "swap", "a - b", "b - (a)"),
            (8, "flip", "i >= 0 && i < n", "not (i >= 0 && i < n)"),
            (8, "bound", "i >= 0", "i > 0"),
            (8, "bound", "i < n", "i <= n"),
            (8, "part", "i < n", "true"),
            (8, "axis", "0", "1"),
            (8, "answer", "true", "false"),
            (9, "answer", "false", "true"),
            (3, "axis", "3", "4"),
            (12, "axis", "0", "1"),
            (14, "drop", "n += kSize;", ""),
            (15, "swap", "difference(n, 2)", "difference(2, n)"),
            (15, "axis", "2", "3"),
        })

    def test_a_mutant_computes_something_else_and_all_others_do_not(self):
        chosen = [p for p in found(SOURCE) if (p.line, p.kind) in ((5, "swap"), (8, "bound"), (14, "drop"), (15, "swap"))]
        chosen = [p for p in chosen if p.text != "i >= 0"]
        numbers = {p: n for n, p in enumerate(chosen)}
        text, _ = places.instrumented(SOURCE, numbers)
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "a.cc", pathlib.Path(folder) / "a"
            source.write_bytes((tree.HOOK % 10).encode() + text + MAIN)
            subprocess.run(["g++", "-std=c++20", "-o", program, source], check=True)
            reached = pathlib.Path(folder) / "reached"
            reached.write_bytes(bytes(10))
            said = {}
            for place, number in {**numbers, None: -1}.items():
                environment = {"RELAY_MUTANT": str(number), "RELAY_MUTANTS_REACHED": str(reached)}
                out = subprocess.run([program], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
                said[place and place.text] = out
            seen = reached.read_bytes()
        self.assertEqual(said, {None: "2 2 01", "a - b": "-2 -2 01", "i < n": "2 2 11", "n += kSize;": "-1 2 01",
                                "difference(n, 2)": "-2 2 01"})
        self.assertEqual(seen, bytes([1] * 4 + [0] * 6))

    def test_a_barrier_is_a_kind_of_its_own(self):
        self.assertEqual({(p.line, p.kind, p.text) for p in found(PRINTER)}, {
            (4, "flip", "often"),
            (4, "barrier", "out.line(dialect.barrier)"),
            (5, "barrier", 'out.line("__syncthreads();")'),
            (6, "drop", 'out.line("x");'),
        })
        text, _ = places.instrumented(PRINTER, {p: n for n, p in enumerate(found(PRINTER)) if p.kind == "barrier"})
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(places.Reader([]).wrong_lines(str(pathlib.Path(folder) / "a.cc"), text), set())

    def test_equal_places_have_numbers(self):
        zeros = [(p.line, p.of_line, p.nth) for p in found(ZEROS) if p.kind == "axis"]
        self.assertEqual(zeros, [(2, "if (a > 0) return 0;", 0), (2, "if (a > 0) return 0;", 1), (3, "if (a > 0) return b;", 0)])

    def test_what_does_not_compile_is_told_by_its_line(self):
        chosen = {p: 0 for p in found(SOURCE) if p.line == 3}
        text, lines = places.instrumented(SOURCE, chosen)
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "a.cc")
            wrong = places.Reader([]).wrong_lines(path, text)
        self.assertTrue(any(line in wrong for line in lines[next(iter(chosen))]))


def drawn(source, share, named=()):
    """Path and all, but not the folder of the test, which is part of each key."""
    of_file = draw.Draw([dataclasses.replace(p, path="a.cc") for p in found(source)], share, set(named))
    of_file.take()
    return [p.key for p in of_file.chosen]


class DrawTest(unittest.TestCase):
    def test_lines_elsewhere_change_nothing(self):
        for share in (1, 3, 5):
            self.assertEqual(drawn(b"// One line more.\n" + SOURCE + b"void more();\n", share), drawn(SOURCE, share))

    def test_places_do_not_overlap_and_are_of_many_kinds(self):
        self.assertEqual(len({key.split("|")[1] for key in drawn(SOURCE, 4)}), 4)

    def test_named_places_and_barriers_come_besides(self):
        named = "a.cc|axis|0|1|if (i >= 0 && i < n) return true;|0"
        self.assertNotIn(named, drawn(SOURCE, 3))
        self.assertEqual(drawn(SOURCE, 0, [named]), [named])
        self.assertEqual(len(drawn(SOURCE, 3, [named])), 4)
        self.assertEqual([key.split("|")[1] for key in drawn(PRINTER, 0)], ["barrier", "barrier"])

    def test_shares_follow_from_lengths(self):
        self.assertEqual(draw.quotas({"b": 30, "a": 10, "c": 0}, 8), {"a": 2, "b": 6, "c": 0})


class EquivalentTest(unittest.TestCase):
    def test_the_list_is_of_this_checkout(self):
        entries = equivalent.read()
        self.assertGreater(len(entries), 10)
        self.assertEqual(equivalent.stale(entries.values(), HERE.parents[1]), [])

    def test_what_is_gone_is_stale(self):
        line = "if (a > 0) return 0;"
        entry = equivalent.Entry("a.cc", line, "axis", "0", "1", "why")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.cc").write_bytes(ZEROS)
            told = lambda **other: equivalent.stale([dataclasses.replace(entry, **other)], folder)
            self.assertEqual(told(), [])
            self.assertEqual(told(nth=1), [])
            for other in ({"nth": 2}, {"line": "if (a > 0)"}, {"text": "7"}, {"path": "b.cc"}):
                self.assertEqual(len(told(**other)), 1, other)

    def test_an_entry_is_of_one_place(self):
        entry = equivalent.Entry("a.cc", "if (a > 0) return 0;", "axis", "0", "1", "why", 1)
        keys = [p.key for p in (dataclasses.replace(p, path="a.cc") for p in found(ZEROS))]
        self.assertEqual(keys.count(entry.key), 1)

    def test_an_entry_says_all_it_has_to(self):
        good = '[[equivalent]]\npath = "a"\nline = "b"\nkind = "axis"\ntext = "0"\nwrong = "1"\nreason = "why"\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "list.toml"
            path.write_text(good)
            self.assertEqual([e.reason for e in equivalent.read(path).values()], ["why"])
            for wrong in (good + good, good.replace('"why"', '" "'), good + "more = 1\n", good.replace('line = "b"\n', "")):
                path.write_text(wrong)
                with self.assertRaises(ValueError):
                    equivalent.read(path)


class StudyTest(unittest.TestCase):
    def test_first_tests_are_of_many_programs(self):
        tests = [(1, study.Test("a/x", "A.1")), (2, study.Test("a/x", "A.2")), (3, study.Test("b/y", ""))]
        self.assertEqual([str(t) for _, t in study.spread(tests)], ["//a:x A.1", "//b:y", "//a:x A.2"])

    def test_nothing_that_a_test_has_started_lives_on(self):
        with tempfile.TemporaryDirectory(prefix="relay-mutant-") as folder:
            child = subprocess.Popen(["sleep", "600"], env={**os.environ, "TEST_TMPDIR": folder}, start_new_session=True)
            other = subprocess.Popen(["sleep", "600"])
            study.end_all(folder)
            self.assertEqual(child.wait(60), -9)
            self.assertIsNone(other.poll())
            other.kill()
            other.wait()

    def test_batches_take_so_long(self):
        tests = [(4.0, n) for n in range(5)]
        self.assertEqual([[n for _, n in batch] for batch in study.cut(tests, 10)], [[0, 1], [2, 3], [4]])


if __name__ == "__main__":
    unittest.main()
