#!/usr/bin/python3
"""An operator without a formula, and a label without a text, do not build."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import sources

FAMILY = """// What the files of a family share.
//
//   (Tensor[s, d]) -> Tensor[s, bool]
//   C1: d is numeric.
#pragma once
"""
SOURCE = """// Two activations.
//
//   nn.first(x) = x
//   nn.second(x) =
//       x + 1
//
//   half   x / 2
//
// Not a number stays
// not a number.
#include "op/nn/family.h"

// (Tensor[s, d]) -> Tensor[s, d]   C1: d is floating.   C2: the axis is known,
// and so is the rank.
template <class A>
Type relate_first(Relation& r, const A& a) {
  r.require_float(0);  // C1
  r.axis(a.axis, 1);   // C2
  return r.type(0);
}

const OpDef kFirst = define<NoAttrs>({
    .name = "nn.first",
    .relate = relate_first,
});

const OpDef kSecond = family({
    .name = "nn.second",
});
"""


class OpRulesTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.root = folder
        (folder / "op/nn").mkdir(parents=True)

    def rules(self, source, family=FAMILY):
        """What is printed, or what is said if the build ends."""
        (self.root / "op/nn/family.h").write_text(family, encoding="utf-8")
        (self.root / "op/nn/some.cc").write_text(source, encoding="utf-8")
        command = ["/usr/bin/python3", sources.ROOT / "bazel/op_rules.py", "op/nn/family.h", "op/nn/some.cc"]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=self.root)
        self.assertEqual(ended.returncode == 0, not ended.stderr, ended.stderr)
        return ended.stdout + ended.stderr

    def test_comments_become_rules(self):
        text = self.rules(SOURCE)
        self.assertIn('{R"~(nn.first)~", R"~(nn.first(x) = x\nhalf   x / 2)~", R"~((Tensor[s, d]) -> Tensor[s, d])~", '
                      'R"~(C1: d is floating.\nC2: the axis is known, and so is the rank.)~", '
                      'R"~(Not a number stays not a number.)~"}', text)
        self.assertIn('{R"~(nn.second)~", R"~(nn.second(x) =\n    x + 1\nhalf   x / 2)~", R"~((Tensor[s, d]) -> Tensor[s, bool])~", '
                      'R"~(C1: d is numeric.)~", R"~(Not a number stays not a number.)~"}', text)
        self.assertNotIn("Two activations", text)

    def test_a_domain_is_what_the_definition_says_or_its_family(self):
        family = FAMILY.replace("d is numeric", "d is <domain>") + "struct Family {\n  Domain domain = Domain::kFloat;\n};\n"
        self.assertIn("C1: d is floating-point.", self.rules(SOURCE, family))
        whole = SOURCE.replace('.name = "nn.second",', '.name = "nn.second",\n    .domain = Domain::kInteger,')
        self.assertIn("C1: d is an integer.", self.rules(whole, family))

    def test_what_is_missing_is_named(self):
        for old, new, said in (
                ("//   nn.second(x) =\n", "", "op/nn/some.cc: no comment has the formula of `nn.second`: a line that begins `// nn.second(`"),
                ("C2: the axis is known,\n// and so is the rank.", "", "op/nn/some.cc: code is labelled C2, and no comment says what C2 of nn.first is"),
                ("// C1\n", "// C1, C3\n", "code is labelled C3"),
                ("return r.type(0);\n}", "return r.type(0);\n}\n\nvoid check() {\n  fail();  // C4\n}", "code is labelled C4"),
                ('    .name = "nn.first",\n    .relate = relate_first,\n', "", "kFirst has no name")):
            self.assertIn(old, SOURCE)
            self.assertIn(said, self.rules(SOURCE.replace(old, new, 1)))
        shared = '#include "op/nn/family.h"\nvoid check() {\n  fail();  // C1\n}\n'
        self.assertIn("kOpRules[] = {\n};", self.rules(shared))
        self.assertIn("code is labelled C1", self.rules(shared, FAMILY.replace("C1: ", "")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
