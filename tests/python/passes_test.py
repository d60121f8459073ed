#!/usr/bin/python3
"""Passes, patterns and rewrites in Python."""

import linecache
import threading
import traceback
import unittest
import warnings
from unittest import mock

import numpy as np

import relay

TWICE = """def @main(%x: Tensor[(2), float32]) {
  nn.relu(nn.relu(add(%x, 1f)))
}"""


class PassesTest(unittest.TestCase):
    def setUp(self):
        self.model = relay.parse(TWICE, name="net.relay")

    def test_functions_stand_among_passes(self):
        seen = []

        def my_pass(module):
            seen.append(module)
            return relay.pattern("nn.relu(nn.relu(%x))").rewrite(module, "nn.relu(%x)")

        done = self.model.run(["simplify-inference", my_pass, "fuse,lower", next(iter_of("dead-code"))])
        self.assertEqual(len(seen), 1)
        self.assertIsInstance(seen[0], relay.Module)
        self.assertEqual([r.pass_name for r in done.report.rows][:3], ["simplify-inference", "my_pass", "fuse"])
        x = np.array([-3, 2], np.float32)
        np.testing.assert_array_equal(relay.interpret(done, x), [0, 3])
        self.assertIsNone(self.model.report)

    def test_the_passes_of_a_level_are_texts(self):
        whole = self.model.run(level=2, target="cpu:avx2")
        parts = self.model.run([*relay.pipeline(2, "cpu:avx2")], level=2, target="cpu:avx2")
        self.assertEqual(whole.text(), parts.text())
        self.assertEqual([r.pass_name for r in whole.report.rows], relay.pipeline(2, "cpu:avx2"))

    def test_an_exception_arrives_whole(self):
        class Mine(Exception):
            pass

        error = Mine("mine", 7)

        def fails(module):
            raise error

        try:
            self.model.run(["fuse", fails, "lower"])
        except Mine as caught:
            self.assertIs(caught, error)
            self.assertEqual(traceback.extract_tb(caught.__traceback__)[-1].name, "fails")
        else:
            self.fail("nothing was raised")
        self.assertEqual(len(self.model.run("fuse").report.rows), 1)  # the module is usable

    def test_what_is_no_pass(self):
        with self.assertRaisesRegex(TypeError, "argument `passes` has a int"):
            self.model.run(["fuse", 3])
        with self.assertRaisesRegex(TypeError, "the pass `<lambda>` gave a NoneType"):
            self.model.run([lambda module: None])
        with self.assertRaises(relay.DiagnosticError) as caught:
            self.model.run(["fuse", "no-such-pass"])
        self.assertEqual(caught.exception.slug, "bad-pipeline")

    def test_a_wrong_name_is_found_before_anything_runs(self):
        ran = []
        with self.assertRaises(relay.DiagnosticError):
            self.model.run([lambda m: ran.append(m) or m, "no-such-pass"])
        self.assertEqual(ran, [])

    def test_a_pass_may_run_passes_and_threads(self):
        def nested(module):
            found = []
            thread = threading.Thread(target=lambda: found.append(module.run("fuse")))
            thread.start()
            thread.join()
            return found[0].run([lambda m: m])

        self.assertIn("Primitive", self.model.run([nested]).text())

    def test_the_report(self):
        report = self.model.run(["inline", lambda m: m]).report
        self.assertIn("<lambda>", str(report))
        self.assertEqual([r.changed for r in report.rows], [False, False])
        self.assertEqual(report.to_dict()["rows"][0]["pass"], "inline")
        self.assertGreater(report.rows[0].expressions, 3)
        self.assertEqual((report.rows[0].functions, report.rows[0].kernels), (1, 0))
        before = [line for line in str(report).splitlines() if line.startswith("(before)")]
        self.assertEqual(str(self.model.run([]).report).splitlines()[1:], before)  # of no passes, too


def iter_of(name):
    return (p for p in relay.passes() if p.name == name)


class PatternTest(unittest.TestCase):
    def setUp(self):
        self.model = relay.parse(TWICE, name="net.relay")

    def test_matches(self):
        pattern = relay.pattern("nn.relu(%x)")
        self.assertEqual(pattern.names, ["x"])
        self.assertEqual(str(pattern), "nn.relu(%x)")
        inner, outer = pattern.matches(self.model)
        self.assertEqual((inner.root.span.line, inner.root.span.column), (2, 11))
        self.assertEqual((outer.root.span.line, outer.root.span.column), (2, 3))
        self.assertEqual(outer["x"].id, inner.root.id)
        self.assertEqual(inner["x"].kind, "call")
        self.assertEqual([e.id for e in inner.region][0], inner.root.id)
        self.assertIsNone(relay.pattern("tanh(_)").match(outer.root))
        self.assertEqual(relay.pattern("nn.relu(nn.relu(%y))").match(outer.root)["y"].kind, "call")

    def test_alternatives(self):
        (match,) = relay.pattern("add(%a, _) | tanh(%b)").matches(self.model)
        self.assertIsNone(match["b"])
        self.assertEqual(match["a"].kind, "var")
        with self.assertRaisesRegex(KeyError, "no part %c"):
            match["c"]

    def test_rewrite_by_a_text(self):
        pattern = relay.pattern("nn.relu(nn.relu(%x))")
        small = pattern.rewrite(self.model, "nn.relu(%x)")
        self.assertEqual(small.text().count("nn.relu"), 1)
        self.assertEqual(self.model.text().count("nn.relu"), 2)
        self.assertEqual(pattern.rewrite(small, "nn.relu(%x)").text(), small.text())

    def test_rewrite_by_a_function(self):
        seen = []

        def once(match):
            seen.append(str(match["x"].type))
            return match["x"] if match["x"].kind == "call" and len(seen) > 1 else None

        done = relay.pattern("nn.relu(%x)").rewrite(self.model, once, once=True)
        self.assertEqual(seen, ["Tensor[(2), float32]"] * 2)
        self.assertEqual(done.text().count("nn.relu"), 1)
        done = relay.pattern("add(%x, const as %c)").rewrite(self.model, lambda m: "subtract(%x, %c)", once=True)
        np.testing.assert_array_equal(relay.interpret(done, np.array([3, 1], np.float32)), [2, 0])

    def test_rewrite_by_expressions(self):
        done = relay.pattern("add(%x, const as %c)").rewrite(
            self.model, lambda m: relay.ops.tanh(m["x"]) * relay.const(np.float32(3)) - m["c"], once=True)
        x = np.array([0.5, 1], np.float32)
        np.testing.assert_allclose(relay.interpret(done, x), np.maximum(np.tanh(x) * 3 - 1, 0), rtol=1e-5)

    def test_parts_have_types_in_every_round(self):
        seen = []

        def step(match):
            seen.append([str(match[part].type) for part in match.names])
            if match["c"].value > 1:
                return f"nn.relu(add(%x, {float(match['c'].value) - 1}f))"
            return "exp(%x)"

        model = relay.parse("def @main(%x: Tensor[(2), float32]) { add(nn.relu(%x), 3f) }")
        done = relay.pattern("add(%x, const as %c)").rewrite(model, step)
        self.assertEqual(seen, [["float32", "Tensor[(2), float32]"]] * 3)
        self.assertIn("nn.relu(nn.relu(exp(nn.relu(%x))))", done.text())
        # Where a part is what the same round has put there.
        seen.clear()
        twice = relay.pattern("nn.relu(%x)").rewrite(
            self.model, lambda m: seen.append(str(m["x"].type)) or "tanh(%x)", once=True)
        self.assertEqual(seen, ["Tensor[(2), float32]"] * 2)
        self.assertIn("tanh(tanh(add(%x, 1f)))", twice.text())

    def test_places_in_replacements(self):
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.pattern("nn.relu(%x)").rewrite(self.model, "tanh(\n  %y)")
        span = caught.exception.span
        self.assertEqual((span.file, span.line, span.column), ("<replacement>", 2, 3))
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.pattern("add(%x, %c)").rewrite(self.model, "nn.dense(%x, %c)")
        self.assertEqual((caught.exception.span.line, caught.exception.span.column), (1, 1))

    def test_a_file_of_python_is_read_once_for_a_module(self):
        pattern, read = relay.pattern("tanh(%x)"), []
        lines = linecache.getlines
        model = relay.parse("def @main(%x: Tensor[(2), float32]) { tanh(%x) }")
        with mock.patch("linecache.getlines", lambda name, *rest: read.append(name) or lines(name, *rest)):
            for _ in range(3):
                model = pattern.rewrite(model, lambda m: relay.ops.tanh(relay.ops.exp(m["x"])), once=True)
        self.assertEqual(read, [__file__])
        self.assertEqual(model.text().count("exp("), 3)

    def test_who_is_warned_may_look_at_the_module(self):
        with warnings.catch_warnings(record=True):
            model = relay.parse("""type Color { Red, Green }
            def @main(%c: Color) -> int64 { match (%c) { Red => add(1i64, 2i64), _ => 2i64, Green => 3i64 } }""")
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda *args, **more: seen.append(str(model))
            relay.pattern("add(%a, _)").rewrite(model, "%a")
        self.assertEqual(seen, [str(model)])

    def test_rewrites_that_are_wrong(self):
        pattern = relay.pattern("nn.relu(%x)")
        with self.assertRaises(relay.DiagnosticError) as caught:
            pattern.rewrite(self.model, "nn.relu(%y)")
        self.assertEqual(caught.exception.slug, "unknown-variable")
        with self.assertRaises(relay.DiagnosticError) as caught:  # what uses it takes no tuple
            relay.pattern("add(%x, _)").rewrite(self.model, "(%x, %x)")
        self.assertEqual(caught.exception.slug, "not-a-tensor")
        with self.assertRaisesRegex(ValueError, "changes the type of @main from .*float32.* to .*float64"):
            relay.pattern("add(%x, _)").rewrite(self.model, 'cast(%x, dtype="float64")')
        with self.assertRaisesRegex(TypeError, "no text and no function"):
            pattern.rewrite(self.model, 3)
        with self.assertRaisesRegex(TypeError, "is a int"):
            pattern.rewrite(self.model, lambda m: 3)
        with self.assertRaisesRegex(ZeroDivisionError, "by zero"):
            pattern.rewrite(self.model, lambda m: 1 // 0)
        other = next(iter(relay.parse(TWICE).expressions()))
        with self.assertRaisesRegex(ValueError, "another module"):
            pattern.rewrite(self.model, lambda m: other)
        elsewhere = relay.parse("""def @f(%y: Tensor[(2), float32]) { let %z = tanh(%y); add(%z, %z) }
        def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }""")
        (z,) = [e for e in elsewhere.expressions("f") if (e.kind, e.name) == ("var", "z")]
        with self.assertRaisesRegex(ValueError, "does not fit where it stands: .*%z"):
            pattern.rewrite(elsewhere, lambda m: z, once=True)
        with self.assertRaisesRegex(ValueError, "only be replaced by a function"):
            relay.pattern("fn (...) { _ }").rewrite(self.model, "1f")
        with self.assertRaises(relay.LimitError):  # it never ends
            relay.pattern("add(%x, %y)").rewrite(self.model, "add(%x, %y)")

    def test_rewrites_that_double_the_program_end(self):
        with self.assertRaisesRegex(relay.LimitError, r"made \d+ expressions in \d+ rounds: what replaces `nn.relu\(%x\)` matches again"):
            relay.pattern("nn.relu(%x)").rewrite(self.model, "nn.relu(nn.relu(%x))")

    def test_patterns_that_are_wrong(self):
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.pattern("nn.relu(%x")
        self.assertEqual(caught.exception.span.file, "<pattern>")
        with self.assertRaises(relay.DiagnosticError):
            relay.pattern("no.such.operator(_)")

    def test_types_of_a_module(self):
        module = relay.parse("type T { A, B(int64) }  def @main(%t: T) { match (%t) { A => 1i64, B(%x) => %x } }")
        with self.assertRaises(relay.DiagnosticError):
            relay.pattern("_ : T")
        self.assertEqual({m.root.kind for m in relay.pattern("_ : T", module=module).matches(module)}, {"var"})


class ExpressionsTest(unittest.TestCase):
    def test_what_they_say_of_themselves(self):
        model = relay.parse("""def @f(%y: Tensor[(2), float32]) { sum(%y, axis=[0], keepdims=True) }
        def @main(%x: Tensor[(2), float32]) { (@f(%x), 2f, fn (%a: int64, Primitive=True) { %a }) }""")
        found = {(e.kind, e.name) for e in model.expressions()}
        self.assertLessEqual({("call", "sum"), ("call", "f"), ("operator", "sum"), ("var", "x"), ("global", "f"),
                              ("tuple", None), ("constant", None)}, found)
        attributes = {e.name: e.attributes for e in model.expressions() if e.attributes}
        self.assertEqual(attributes["sum"], {"axis": "[0]", "keepdims": "True"})
        self.assertEqual(attributes[None], {"Primitive": "True"})
        self.assertEqual([float(e.value) for e in model.expressions() if e.value is not None], [2.0])

    def test_in_the_order_of_evaluation(self):
        model = relay.parse(TWICE, name="net.relay")
        all_of_it = model.expressions()
        calls = [e for e in all_of_it if e.kind == "call"]
        self.assertEqual([(e.span.line, e.span.column) for e in calls], [(2, 19), (2, 11), (2, 3)])
        self.assertEqual({str(e.type) for e in calls}, {"Tensor[(2), float32]"})
        self.assertEqual(all_of_it[-1].kind, "function")
        self.assertEqual(len({e.id for e in all_of_it}), len(all_of_it))
        self.assertEqual([e.id for e in model.expressions("main")], [e.id for e in all_of_it])

    def test_they_outlive_the_module(self):
        last = relay.parse(TWICE).expressions()[-2]
        self.assertEqual(str(last.type), "Tensor[(2), float32]")

    def test_a_function_that_is_not_there(self):
        with self.assertRaisesRegex(KeyError, "no function @other"):
            relay.parse(TWICE).expressions("other")


if __name__ == "__main__":
    unittest.main()
