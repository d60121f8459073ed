#!/usr/bin/python3
"""The list of known differences, and how reports of `relay verify` are read. Needs no ONNX Runtime."""

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from graphs import relay, triage  # the standard library alone

ENTRY = """
[[difference]]
operator = ["Resize", "Upsample"]
kind = "differs"
node = 'mode=linear'
within = 1e-5
reason = "rounding"
right = "relay"
spec = "none"
"""


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "triage.toml"
        path.write_text(text, encoding="utf-8")
        return triage.read(path)


class TriageTest(unittest.TestCase):
    def explains(self, kind="differs", node="Resize opset 13 () mode=linear", got="1.00001", entry=ENTRY):
        return bool(
            triage.explain(read(entry), kind, node, f"expected: output y, index 0, got {got}, wanted 1.0, bound 0")
        )

    def test_the_list_of_the_project_is_read(self):
        self.assertGreater(len(triage.read(HERE / "triage.toml")), 5)

    def test_everything_has_to_fit(self):
        self.assertTrue(self.explains(got="1.000009"))
        self.assertFalse(self.explains(got="1.000011"))
        self.assertFalse(self.explains(kind="peer refuses"))
        self.assertFalse(self.explains(node="Resize opset 13 () mode=cubic"))
        self.assertFalse(self.explains(node="ResizeOther opset 13 () mode=linear"))
        self.assertTrue(self.explains(node="Upsample opset 9 () mode=linear", got="1.0"))

    def test_a_shape_is_not_close_to_another(self):
        found = triage.explain(
            read(ENTRY), "differs", "Resize opset 13 () mode=linear", "y is float32(1,) and not float32(2,)"
        )
        self.assertIsNone(found)

    def test_what_is_explained_is_counted(self):
        entries = read(ENTRY)
        message = "expected: output y, index 0, got nan, wanted nan, bound 0"
        self.assertIsNone(triage.explain(entries, "differs", "Resize opset 13 () mode=linear", message))
        triage.explain(entries, "differs", "Resize opset 13 () mode=linear", message.replace("nan", "2.0"))
        self.assertEqual(entries[0].count, 1)

    def test_an_entry_says_all_it_has_to(self):
        for wrong in (
            ENTRY.replace('right = "relay"', 'right = "me"'),
            ENTRY.replace('kind = "differs"', 'kind = "odd"'),
            ENTRY.replace('spec = "none"', ""),
            ENTRY + 'colour = "red"\n',
            ENTRY.replace("node = 'mode=linear'\nwithin = 1e-5\n", ""),
            ENTRY.replace('["Resize", "Upsample"]', '"*"'),
        ):
            with self.assertRaises(ValueError):
                read(wrong)
        self.assertEqual(read(ENTRY.replace('["Resize", "Upsample"]', '"*"') + "most = 3\n")[0].most, 3)


LIMITED = """
[[difference]]
operator = "*"
kind = "peer refuses"
message = 'Shape'
reason = "shapes"
right = "relay"
spec = "none"
most = 20

[[difference]]
operator = "Relu"
kind = "peer refuses"
message = 'Relu'
reason = "no ceiling"
right = "relay"
spec = "none"

[[limit]]
outcome = "(the axes had to be fixed)"
most = 300
reason = "axes"
"""


class CountTest(unittest.TestCase):
    """How many graphs a known difference may explain."""

    def exceeded(self, shapes, fixed, graphs):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "triage.toml"
            path.write_text(LIMITED, encoding="utf-8")
            entries, limits = triage.read(path), triage.read_limits(path)
        for _ in range(shapes):
            self.assertIsNotNone(triage.explain(entries, "peer refuses", "Conv opset 13", "ShapeInferenceError"))
        for _ in range(1000):
            self.assertIsNotNone(triage.explain(entries, "peer refuses", "Relu opset 13", "Relu"))
        return triage.exceeded(entries, limits, {triage.FIXED: fixed, "agree": graphs}, graphs)

    def test_as_many_as_are_allowed(self):
        self.assertEqual(self.exceeded(20, 300, 10_000), [])
        self.assertEqual(self.exceeded(10, 150, 5_000), [])

    def test_one_more(self):
        many = self.exceeded(21, 300, 10_000)
        self.assertEqual(len(many), 1)
        self.assertIn("21 of 10000 graphs, and at most 20 of 10000 are allowed: * (peer refuses): shapes", many[0])
        self.assertEqual(len(self.exceeded(11, 151, 5_000)), 2)
        self.assertIn("(the axes had to be fixed)", self.exceeded(0, 301, 10_000)[0])

    def test_the_limits_of_the_project_are_read(self):
        self.assertEqual(set(triage.read_limits(HERE / "triage.toml")), set(triage.LIMITED))

    def test_a_limit_says_all_it_has_to(self):
        for wrong in (LIMITED.replace("(the axes had to be fixed)", "agree"), LIMITED + "more = 1\n"):
            with tempfile.TemporaryDirectory() as folder, self.assertRaises(ValueError):
                path = Path(folder) / "triage.toml"
                path.write_text(wrong, encoding="utf-8")
                triage.read_limits(path)


class VerdictTest(unittest.TestCase):
    """What docs/verifying.md says of reports, and the lines that the command prints."""

    def verdict(self, *engines, **program):
        keys = {
            "level": None,
            "reason": "",
            "slug": "",
            "output": "y",
            "index": 3,
            "got": 1.0,
            "wanted": 2.0,
            "bound": 0.5,
        }
        rows = [{**keys, **e} for e in engines]
        return relay.verdict_of(
            {"program": "p", "verdict": "agrees", "engines": rows, **program}, program.get("said", "")
        )

    def test_values(self):
        agrees = {"engine": "interp", "verdict": "agrees"}
        self.assertEqual(self.verdict(agrees).kind, "agrees")
        differs = self.verdict(agrees, {"engine": "expected", "verdict": "differs"})
        self.assertEqual(
            (differs.kind, differs.message), ("differs", "expected: output y, index 3, got 1.0, wanted 2.0, bound 0.5")
        )
        failed = self.verdict(
            {"engine": "expected", "verdict": "differs"},
            {"engine": "jit", "level": 2, "verdict": "failed", "reason": "trap"},
        )
        self.assertEqual((failed.kind, failed.message), ("engine differs", "jit -O2: trap"))
        skipped = self.verdict({"engine": "graph", "level": 2, "verdict": "skipped", "reason": "control flow"})
        self.assertEqual((skipped.kind, skipped.message), ("agrees", "graph skips it: control flow"))

    def test_refusals_name_their_model_and_node(self):
        text = (
            "m.onnx:2:1: error: `Pow` (node `n1`): no [onnx-type-error]\n  Pow\n  ^~~\nnote: say yes\n"
            "relay: /a/1: not verified, see above\nerror: gone [x]\nrelay: /a/2: not verified, see above\n"
        )
        said = relay.read_refusals(text, ["/a/1", "/a/2"])
        first = relay.refusal(4, said["/a/1"])
        self.assertEqual((first.kind, first.node), ("unsupported", "n1"))
        self.assertEqual(first.message, "`Pow` (node `n1`): no [onnx-type-error] (say yes)")
        self.assertEqual(relay.refusal(3, said["/a/2"]).kind, "refuses")
        self.assertEqual(relay.refusal(5, "error: full").kind, "limit")

    def test_refusals_are_read_as_objects_too(self):
        text = '{"severity":"error","slug":"some-slug","message":"no (node `n3`)","notes":["do this"]}\n{"severity":"remedy"}'
        wanted = relay.Verdict("unsupported", "no (node `n3`) [some-slug] (do this)", "n3")
        self.assertEqual(relay.refusal(4, text), wanted)
        self.assertEqual(relay.refusal(2, '{"severity":"error","message":"no"}').message, "no")

    def test_a_batch_that_dies_is_halved(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "relay"
            fake.write_text(
                "#!/bin/sh\nshift\nfor f; do case $f in *bad) kill -SEGV $$;; esac; done\n"
                "printf '{\"programs\": ['; c=; for f; do case $f in /*)\n"
                'printf \'%s{"program": "%s", "verdict": "agrees", "engines": []}\' "$c" "$f"\n'
                "c=,;; esac; done; echo ']}'\n"
            )
            fake.chmod(0o755)
            names = [Path(f"/m/{i}") for i in range(5)] + [Path("/m/bad")]
            verdicts = relay.Relay(fake, HERE).verify(names)
            self.assertEqual({str(p): v.kind for p, v in verdicts.items() if v.kind != "agrees"}, {"/m/bad": "crashes"})
            self.assertEqual(len(verdicts), 6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
