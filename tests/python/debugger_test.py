#!/usr/bin/python3
"""The debugger as an object."""

import os
import signal
import threading
import unittest

import numpy as np

import relay

TEXT = """def @double(%y: Tensor[(2), float32]) {
  multiply(%y, 2f)
}
def @main(%x: Tensor[(2), float32]) {
  let %d = @double(%x);
  %0 = log(%d);
  add(%0, %d)
}"""
X = np.array([1, 2], np.float32)


class DebuggerTest(unittest.TestCase):
    def setUp(self):
        self.session = relay.debug(relay.parse(TEXT, name="net.relay"), X)

    def test_steps(self):
        s = self.session
        self.assertEqual((s.state, s.value, s.stopped_by, s.message), ("start", None, None, ""))
        self.assertIs(s.step(), s)
        self.assertEqual(s.state, "before")
        self.assertIn("call of @double", s.where)
        s.step()
        self.assertEqual((s.frames[0].function, s.frames[1].function, len(s.frames)), ("@double", "@main", 2))
        self.assertEqual(list(s.locals), ["y"])
        np.testing.assert_array_equal(s.locals["y"], X)
        np.testing.assert_array_equal(s.frames[1].locals["x"], X)
        self.assertEqual((s.frames[0].span.file, s.frames[0].span.line), ("net.relay", 2))
        s.finish()
        self.assertEqual(s.state, "value")
        np.testing.assert_array_equal(s.value, [2, 4])
        s.next()
        self.assertIn("`log`", s.where)
        s.next()
        np.testing.assert_allclose(s.value, np.log([2, 4]), rtol=1e-6)
        np.testing.assert_allclose(s.next().locals["0"], np.log([2, 4]), rtol=1e-6)
        s.go()
        self.assertEqual((s.state, s.frames, s.locals), ("ended", [], {}))
        np.testing.assert_allclose(s.value, np.log([2, 4]) + [2, 4], rtol=1e-6)
        self.assertEqual(s.restart().state, "start")

    def test_values_are_the_callers_own(self):
        y = self.session.step().step().locals["y"]
        y[:] = 7
        np.testing.assert_array_equal(self.session.locals["y"], X)

    def test_breakpoints(self):
        s = self.session
        log = s.break_at("log")
        self.assertEqual((log.number, log.text, log.hits), (1, "log", 0))
        s.break_at("* if min < 1")
        self.assertEqual(s.go().stopped_by.number, 1)
        self.assertEqual(s.state, "before")
        self.assertEqual([b.hits for b in s.breakpoints], [1, 0])
        s.go()
        self.assertEqual((s.stopped_by.number, s.state), (2, "value"))
        self.assertIn("`log`", s.where)
        s.delete(1)
        self.assertEqual([b.number for b in s.breakpoints], [2])
        s = relay.debug(relay.parse(TEXT), X, breakpoints=["@double"])
        self.assertEqual(s.go().state, "start")

    def test_what_cannot_be_done(self):
        s = self.session
        for where in ("nn.no_such", "", "log if huge", "99999"):
            with self.assertRaises(ValueError):
                s.break_at(where)
        self.assertEqual(s.breakpoints, [])
        with self.assertRaisesRegex(ValueError, "breakpoint"):
            s.delete(3)
        with self.assertRaisesRegex(ValueError, "nonsense"):
            s.execute("nonsense")
        with self.assertRaises(ValueError):
            relay.debug(relay.parse(TEXT), X, breakpoints=["nowhere"])
        for places in ("log", 3, [7]):
            with self.assertRaisesRegex(TypeError, "argument `breakpoints` is no list of texts"):
                relay.debug(relay.parse(TEXT), X, breakpoints=places)
        s.go()
        with self.assertRaisesRegex(RuntimeError, "has ended; `restart`"):
            s.step()
        with self.assertRaisesRegex(TypeError, "argument `x` is missing"):
            relay.debug(relay.parse(TEXT))
        with self.assertRaises(relay.DiagnosticError):
            relay.debug(relay.parse("def @other() { 1f }"))

    def test_commands(self):
        self.assertIn("histogram", self.session.execute("help"))
        self.session.step().step()
        self.assertIn("mean", self.session.execute("statistics y"))

    def test_failures(self):
        s = relay.debug(relay.parse("def @main(%x: int32) { divide(1i32, %x) }"), 0).go()
        self.assertEqual(s.state, "trapped")
        self.assertIn("zero", s.message)
        with self.assertRaisesRegex(RuntimeError, "has failed"):
            s.next()
        loop = relay.parse("def @main(%x: int64) -> int64 { @main(add(%x, 1i64)) }")
        limited = relay.debug(loop, 1, fuel=1000).go()
        self.assertEqual(limited.state, "exhausted")
        self.assertIn("more than 1000 steps (fuel)", limited.message)  # the argument, not the command's option

    def test_values_of_data_types(self):
        module = relay.parse("""import "prelude"
        def @main(%xs: List[int64], %o: Option[int64]) {
          let %f = fn (%a: int64) -> int64 { add(%a, 1i64) };
          let %r = ref(1i64);
          let %p = (%xs, %o);
          %f(@total(%xs))
        }
        def @total(%xs: List[int64]) -> int64 { match (%xs) { Nil => 0i64, Cons(%x, %r) => add(%x, @total(%r)) } }""")
        s = relay.debug(module, [1, 2, 3], None, breakpoints=["@total"]).go()
        found = s.frames[-1].locals
        self.assertEqual([int(v) for v in found["xs"]], [1, 2, 3])
        self.assertEqual(found["o"].constructor, "None")
        self.assertEqual([int(v) for v in found["p"][0]], [1, 2, 3])
        self.assertIn("closure", found["f"])
        self.assertIn("ref", found["r"])

    def test_lists_are_told_by_their_constructors(self):
        s = relay.debug(relay.parse("""type Stack { Nil, Cons(int64, Stack) }
        def @main(%s: Stack) { (%s, 1i64) }"""), [1, 2])
        self.assertEqual([int(v) for v in s.locals["s"]], [1, 2])
        leaves = relay.Data("Leaf", (1,)), relay.Data("Leaf", (2,))
        s = relay.debug(relay.parse("""type List { Leaf(int64), Node(List, List) }
        def @main(%t: List) { (%t, 1i64) }"""), relay.Data("Node", leaves))
        tree = s.locals["t"]
        self.assertEqual((tree.constructor, tree.fields[1].constructor), ("Node", "Leaf"))
        self.assertEqual(int(tree.fields[1].fields[0]), 2)

    def test_long_lists(self):
        module = relay.parse("""import "prelude"
        def @main(%xs: List[int64]) { add(match (%xs) { Nil => 0i64, Cons(%x, _) => %x }, 1i64) }""")
        s = relay.debug(module, list(range(100_000)))
        self.assertEqual(len(s.locals["xs"]), 100_000)

    def test_ctrl_c(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        loop = relay.parse("def @main(%x: int64) -> int64 { @main(add(%x, 1i64)) }")
        s = relay.debug(loop, 1)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            s.go()
        self.assertGreater(int(s.locals["x"]), 1)
        s.step()


if __name__ == "__main__":
    unittest.main()
