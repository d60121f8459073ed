#!/usr/bin/python3
"""What every source of the project must keep: the arrows, the sizes, the words, and a test for each message."""

import importlib.util
import json
import pathlib
import re
import tempfile
import unittest

import sources

LONGEST = 500  # lines of a file: what is longer does several things
MOST_HEADER_LINES = 300
LONGEST_FUNCTION = 80  # lines between its braces
# Folders whose subfolders share their namespace.
SHARED_NAMESPACES = ("aot", "exporter", "frontend", "op", "passes", "tools", "vta")
# They are `relay` itself.
WITHOUT_NAMESPACE = ("base/", "ir/", "runtime/")
FEWEST_PASSES = 25
FEWEST_SLUGS = 192  # that golden tests show; may only grow


def package(path, table):
    """The folder of the table that a file belongs to: the longest that is a prefix."""
    found = [f for f in table if path.startswith(f + "/")]
    return max(found, key=len) if found else None


def functions(text):
    """(line, lines between the braces) of each function of a formatted C++ text, methods within their class included.

    Formatted code closes a function by a brace that stands where its first line begins.
    """
    lines = text.splitlines()
    last_at = {}  # by indentation: the last line that begins there and is no label and no end of a block
    for number, line in enumerate(lines):
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if body == "}" and indent in (0, 2) and indent in last_at:
            opened = next((n for n in range(last_at[indent], number) if lines[n].endswith("{")), number)
            yield last_at[indent] + 1, max(0, number - opened - 1)
        elif body and body[0] not in "})#/":
            last_at[indent] = number


def script(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, sources.ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ArchTest(unittest.TestCase):
    def test_the_sources_are_found(self):
        # Every other test here passes if there is nothing to look at.
        for suffix, fewest in ((".h", 100), (".cc", 300), (".py", 10), (".relay", 500)):
            self.assertGreater(len(sources.files(suffix)), fewest, suffix)

    def test_includes_follow_the_arrows(self):
        rules = script("tools/layers_page.py")
        table, _ = rules.layers(sources.ROOT)
        wrong = []
        for path in sources.files(".h", ".cc"):
            owner = package(path, table)
            if owner is None:
                continue
            known = rules.below(owner, table)
            for include in re.findall(r'^#include "([^"]+)"', sources.read(path), re.M):
                target = package(include, table)
                if target is None or target == owner or target in known:
                    continue
                wrong.append(f"{path} includes {include}: {owner} may not know {target}")
        self.assertEqual(wrong, [])

    def test_namespaces_follow_folders(self):
        table, _ = script("tools/layers_page.py").layers(sources.ROOT)
        wrong, seen = [], 0
        for path in sources.files(".h", ".cc"):
            owner = package(path, table) or ("tools" if path.startswith("tools/") else None)
            if owner is None or path.startswith((*WITHOUT_NAMESPACE, "tools/templates/")):
                continue
            folder = path.split("/")[:-1]
            wanted = ["relay", *(folder[:1] if folder[0] in SHARED_NAMESPACES else folder)]
            for name in re.findall(r"^namespace (relay(?:::\w+)*) \{", sources.read(path), re.M):
                seen += 1
                if name.split("::")[:len(wanted)] != wanted:
                    wrong.append(f"{path} is in {name}, not in {'::'.join(wanted)}")
        self.assertGreater(seen, 800, "namespaces are not found")
        self.assertEqual(wrong, [])

    def test_every_folder_is_in_the_table(self):
        layers, top = script("tools/layers_page.py").layers(sources.ROOT)
        table = [*layers, *top]
        folders = {p.split("/")[0] for p in sources.files(".h", ".cc")} - {"bazel"}  # what the build includes, no code
        self.assertEqual(sorted(f for f in folders if not any(t == f or t.startswith(f + "/") for t in table)), [])

    def test_the_page_shows_the_table(self):
        self.assertTrue(script("tools/layers_page.py").page(sources.ROOT) == sources.read("docs/architecture.md"),
                        "run ./dev update: docs/architecture.md does not show bazel/layers.bzl")

    def test_the_drawing_shows_every_folder(self):
        """By its name, or as a part of the folder above it."""
        layers, top = script("tools/layers_page.py").layers(sources.ROOT)
        page = sources.read("docs/architecture.md")
        house = page[:page.index("## The arrows")]
        named = set(re.findall(r"\b[a-z_]+(?:/[a-z_]+)+|\b[a-z_]+(?=/)", house))
        without = ("tests", "bench", "examples")  # nothing goes through them
        folders = [f for f in [*layers, *top] if f not in without]
        self.assertEqual([f for f in folders if f not in named and f.rpartition("/")[0] not in named], [])

    def test_a_page_says_each_thing_once(self):
        """The bold beginning of a point: it stands in its list once."""
        pages = sources.files(".md")
        self.assertGreater(len(pages), 20)
        for path in pages:
            points = re.findall(r"^\* \*\*(.+?)\*\*", sources.read(path), re.M)
            self.assertEqual(sorted(p for p in set(points) if points.count(p) > 1), [], path)

    def test_a_row_names_only_rows_above_it(self):
        table, _ = script("tools/layers_page.py").layers(sources.ROOT)
        above = []
        for folder, (arrows, _) in table.items():
            self.assertEqual([p for p in arrows if p not in above], [], folder)
            above.append(folder)

    def test_no_file_is_too_long(self):
        sizes = sorted(((sources.read(p).count("\n"), p) for p in sources.files(".h", ".cc", ".py", ".bzl", ".sh")), reverse=True)
        print("\nthe ten longest files:")
        for lines, path in sizes[:10]:
            print(f"  {lines:5} {path}")
        self.assertEqual([f"{p}: {n} lines" for n, p in sizes if n > LONGEST], [])

    def test_no_function_is_long(self):
        found = [(p, line, n) for p in sources.files(".h", ".cc") for line, n in functions(sources.read(p))]
        self.assertGreater(len(found), 6000, "functions are not found")
        self.assertEqual([f"{p}:{line}: {n} lines" for p, line, n in found if n > LONGEST_FUNCTION], [])

    def test_functions_are_measured(self):
        body = "    x();\n" * 3
        text = ("namespace relay {\nclass A {\n public:\n  explicit A(int a)\n      : a_(a) {}\n\n  int f(int a,\n        int b) {\n"
                f"{body}    if (a) {{\n      y();\n    }}\n  }}\n}};\nint g() {{\n  // {{\n  return 1;\n}}\n}}  // namespace relay\n")
        self.assertEqual(list(functions(text)), [(7, 6), (17, 2)])

    def test_headers_are_for_reading(self):
        long = [(sources.read(p).count("\n"), p) for p in sources.files(".h")]
        self.assertEqual([f"{p}: {n} lines" for n, p in sorted(long) if n > MOST_HEADER_LINES], [])

    def test_every_header_says_what_it_is(self):
        silent = [p for p in sources.files(".h", ".cc")
                  if p.endswith(".h") and not re.match(r"(//|/\*) ?\S", sources.read(p))]
        self.assertEqual(silent, [])

    def test_every_diagnostic_is_on_the_page(self):
        """A golden test shows each registered slug, or a test that the registry names does: something reports it."""
        generator = script("tools/diagnostics_page.py")
        shown = set(generator.examples(sources.ROOT))
        registered = generator.registered(sources.ROOT)
        elsewhere = {slug: entry["test"] for slug, entry in registered.items() if "test" in entry}
        for slug, test in elsewhere.items():
            self.assertIn(f"[{slug}]", sources.read(test), f"the test that base/slugs.txt names for {slug}")
        self.assertEqual(sorted(shown & set(elsewhere)), [],
                         "a golden test shows these: take their line `test` out of base/slugs.txt")
        self.assertEqual(sorted(set(registered) - shown - set(elsewhere)), [],
                         "no golden test shows these: add one, or remove the slug from base/slugs.txt if nothing reports it")
        self.assertEqual(sorted(shown - set(registered)), [], "a golden test shows a slug that base/slugs.txt lacks")
        self.assertGreaterEqual(len(shown), FEWEST_SLUGS)
        self.assertTrue(generator.page(sources.ROOT) == sources.read("docs/diagnostics.md"),
                        "run ./dev update: docs/diagnostics.md is not what the golden tests show")

    def test_every_pass_is_on_the_page(self):
        """With its level and an example of its golden test."""
        generator = script("tools/passes_page.py")
        found = generator.passes(sources.ROOT)
        self.assertGreaterEqual(len(found), FEWEST_PASSES)
        shown = generator.examples(sources.ROOT, found)
        self.assertEqual(sorted(set(found) - set(shown)), [], "no golden test shows these passes alone")
        silent = [name for name, (_, _, text, _) in found.items() if not re.search(r"After(:|,| it)", generator.head_of(text).replace("**", ""))]
        self.assertEqual(silent, [], "their files do not say what is so after them")
        constants = {constant for constant, *_ in found.values()}
        self.assertEqual([row for row in generator.levels(sources.ROOT) if row[0] not in constants], [])
        self.assertTrue(generator.page(sources.ROOT) == sources.read("docs/passes.md"),
                        "run ./dev update: docs/passes.md is not what the passes and their golden tests say")

    def test_shares_of_passes_become_a_table(self):
        """What `bench/shares` writes, by the sum of the shares; nothing of what was not measured."""
        generator = script("tools/passes_page.py")
        networks = {"a": {"all_ms": 1.5, "least_ms": 3, "shares": {"inline": 0.25, "fuse": 0.5}},
                    "b": {"all_ms": 2, "least_ms": 4, "shares": {"fuse": -0.01}}}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(generator.shares(root), "")
            (root / "bench").mkdir()
            (root / "bench/shares.json").write_text(json.dumps({"level": 3, "threads": 1, "repeat": 20, "processor": "P",
                                                                "networks": networks}), encoding="utf-8")
            table = generator.shares(root)
        self.assertTrue(table.endswith("| pass | `a` | `b` |\n|---|---|---|\n| time: `-O0` to `-O3` | 3 to 1.5 ms | 4 to 2 ms |\n"
                                       "| [fuse](#fuse) | 50.0 | -1.0 |\n| [inline](#inline) | 25.0 |  |\n\n"), table)

    def test_texts_from_outside_are_escaped_by_their_owner(self):
        """Names that a comment or JSON ends in go through base/escape.h and base/json_text.h."""
        comment = re.compile(r'"\s*(?://|/\*) (?:[^"\\]|\\.)*(?<!\\n)"\s*,')  # "// about ", name
        json = re.compile(r"[.>]dump\(")
        wrong = []
        for path in sources.files(".h", ".cc"):
            if path.startswith(("tests/", "base/")) or path.endswith("_test.cc"):
                continue
            text = sources.read(path)
            wrong += [f"{path}:{text[:m.start()].count(chr(10)) + 1}: {m.group()} writes what {owner} has to write"
                      for pattern, owner in ((comment, "line_comment"), (json, "json_text"))
                      for m in pattern.finditer(text)]
        self.assertEqual(wrong, [])

    def test_one_file_includes_the_library_of_options(self):
        """Its header costs each file that includes it seconds of compile time: tools/options/options.h stands for it."""
        found = [p for p in sources.files(".h", ".cc") if re.search(r"^#include [<\"]CLI/", sources.read(p), re.M)]
        self.assertEqual(found, ["tools/options/options.cc"])

    def test_nothing_is_left_for_later(self):
        # The words stand apart here so that this file does not find itself.
        later = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
        found = [f"{p}:{n}" for p in sources.files(".h", ".cc", ".py", ".bzl", ".sh", ".relay")
                 for n, line in enumerate(sources.read(p).splitlines(), 1) if later.search(line)]
        self.assertEqual(found, [])

    def test_enough_tests_are_negative(self):
        """At least 15 % of the golden files must fail, and of the exec files that many have a call that traps."""
        golden = [p for p in sources.files(".relay") if p.startswith("tests/golden/")]
        failing = [p for p in golden if p.rsplit("/", 1)[1].startswith("fail_")]
        self.assertGreater(len(golden), 100, "the golden tests are not where they are looked for")
        self.assertGreaterEqual(len(failing), 0.15 * len(golden), f"{len(failing)} of {len(golden)}")
        programs = [p for p in sources.files(".relay") if p.startswith("tests/exec/")]
        trapping = [p for p in programs if re.search(r"^@.*\) traps ", sources.read(p), re.M)]
        self.assertGreaterEqual(len(trapping), 0.15 * len(programs), f"{len(trapping)} of {len(programs)}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
