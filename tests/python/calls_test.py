#!/usr/bin/python3
"""What users of the Python package do: models are read, looked at, run and compared."""

import asyncio
import gc
import os
import pathlib
import pickle
import sys
import tempfile
import threading
import unittest
import weakref

import numpy as np

import relay

SUM = """
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }
"""
PAIR = """
def @main(%x: Tensor[(4), float32]) { (negative(%x), multiply(%x, 2f)) }
"""
OPEN = """
def @main(%x: Tensor[(n, 2), float32]) { add(%x, 1f) }
"""
LISTS = """
import "prelude"
def @main(%xs: List[Tensor[(2), float32]]) { @map(fn (%x: Tensor[(2), float32]) { add(%x, 1f) }, %xs) }
"""
TREE = """
type Tree { Leaf, Node(Tree, int64, Tree) }
def @main(%t: Tree) -> (int64, Tree) {
  match (%t) {
    Leaf => (0i64, Leaf),
    Node(%l, %x, %r) => (%x, Node(%r, %x, %l)),
  }
}
"""


def f32(*values):
    return np.array(values, np.float32)


class ModuleTest(unittest.TestCase):
    def test_a_module_shows_what_it_has(self):
        model = relay.parse(SUM)
        self.assertIn("def @main", str(model))
        self.assertEqual(list(model.functions), ["main"])
        self.assertEqual(list(model), ["main"])
        self.assertIn("main", model)
        self.assertEqual(len(model), 1)
        self.assertEqual(model["main"].parameters, ["x", "y"])
        self.assertIn("Tensor[(2, 3), float32]", model["main"].type)
        self.assertEqual((model.inputs, model.outputs), (["x", "y"], ["output"]))
        with self.assertRaises(KeyError):
            model["other"]

    def test_data_types(self):
        tree = relay.parse(TREE).types["Tree"]
        self.assertEqual(tree.constructors, {"Leaf": [], "Node": ["Tree", "int64", "Tree"]})

    def test_a_text_of_a_module_is_a_module(self):
        model = relay.parse(SUM)
        self.assertEqual(relay.parse(model.text()).text(), model.text())

    def test_modules_can_be_pickled(self):
        for text, function in ((SUM, "main"), (SUM.replace("@main", "@other"), "")):
            model = pickle.loads(pickle.dumps(relay.parse(text)))
            self.assertEqual((model.text(), model.function), (relay.parse(text).text(), function))

    def test_passes(self):
        names = [p.name for p in relay.passes()]
        self.assertIn("fuse", names)
        self.assertEqual(names, sorted(names))
        model = relay.parse("def @main(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }")
        folded = model.run("fold-constants")
        self.assertIn("3f", str(folded))
        self.assertNotIn("3f", str(model))
        self.assertIn("kernel @k0_add", str(model.run(level=2)))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sum.relay"
            path.write_text(SUM)
            self.assertEqual(relay.load(path).inputs, ["x", "y"])
            self.assertEqual(relay.load(str(path), function="main").inputs, ["x", "y"])

    def test_shapes_of_inputs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "open.relay"
            path.write_text(OPEN)
            self.assertIn("Tensor[(5, 2), float32]", relay.load(path, shapes={"x": [5, 2]})["main"].type)


class RunTest(unittest.TestCase):
    """The same calls on each way to run a model."""

    def ways(self, text):
        model = relay.parse(text)
        yield lambda *args, **named: relay.interpret(model, *args, **named)
        yield relay.jit(model)
        yield relay.compile(model, level=1)

    def test_by_position_and_by_name(self):
        x, y = np.arange(6, dtype=np.float32).reshape(2, 3), f32(10, 20, 30)
        for f in self.ways(SUM):
            for result in (f(x, y), f(x, y=y), f(y=y, x=x)):
                self.assertEqual((result.dtype, result.shape), (np.float32, (2, 3)))
                np.testing.assert_array_equal(result, x + y)

    def test_tuples_and_out(self):
        x = f32(1, 2, 3, 4)
        for f in self.ways(PAIR):
            result = f(x)
            self.assertIsInstance(result, tuple)
            np.testing.assert_array_equal(result[0], -x)
            np.testing.assert_array_equal(result[1], 2 * x)
            out = (np.empty(4, np.float32), np.empty(4, np.float32))
            self.assertIs(f(x, out=out), out)
            np.testing.assert_array_equal(out[0], -x)
            np.testing.assert_array_equal(out[1], 2 * x)

    def test_open_shapes(self):
        for f in self.ways(OPEN):
            for n in (1, 3, 0):
                x = np.full((n, 2), 0.5, np.float32)
                np.testing.assert_array_equal(f(x), x + 1)

    def test_open_shapes_and_out(self):
        x = np.full((3, 2), 0.5, np.float32)
        for f in self.ways(OPEN):
            out = np.empty((3, 2), np.float32)
            self.assertIs(f(x, out=out), out)
            np.testing.assert_array_equal(out, x + 1)
            for wrong in ((2, 2), (4, 2)):
                with self.assertRaisesRegex(ValueError, r"^argument `out`.*\(%d, 2\)" % wrong[0]):
                    f(x, out=np.empty(wrong, np.float32))
            with self.assertRaisesRegex(ValueError, r"^argument `out` has the shape \(3, 3\)"):
                f(x, out=np.empty((3, 3), np.float32))
            np.testing.assert_array_equal(f(x), x + 1)
        for f in self.ways("def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { (add(%x, %y), %y) }"):
            good, wrong = np.empty(3, np.float32), np.empty(4, np.float32)
            with self.assertRaisesRegex(ValueError, "^argument `out`"):
                f(x[:, 0].copy(), x[:, 1].copy(), out=(good, wrong))
            with self.assertRaisesRegex(ValueError, "`y`") as caught:  # the input is wrong, and not `out`
                f(x[:, 0].copy(), wrong, out=(good, good.copy()))
            self.assertNotIn("`out`", str(caught.exception))

    def test_lists(self):
        for f in self.ways(LISTS):
            result = f([f32(1, 2), f32(3, 4)])
            self.assertIsInstance(result, list)
            np.testing.assert_array_equal(result, [[2, 3], [4, 5]])
            self.assertEqual(f([]), [])

    def test_long_lists(self):
        f = relay.jit(relay.parse('import "prelude"\ndef @main(%xs: List[int64]) { @rev(%xs) }'))
        result = f([np.int64(i) for i in range(100_000)])
        self.assertEqual((len(result), int(result[0])), (100_000, 99_999))

    def test_data_types(self):
        leaf = relay.Data("Leaf")
        for f in self.ways(TREE):
            number, tree = f(relay.Data("Node", (leaf, 7, relay.Data("Node", (leaf, 8, leaf)))))
            self.assertEqual(int(number), 7)
            match tree:
                case relay.Data("Node", (relay.Data("Node", (_, inner, _)), outer, relay.Data("Leaf", ()))):
                    self.assertEqual((int(inner), int(outer)), (8, 7))
                case _:
                    self.fail(repr(tree))

    def test_options(self):
        text = """import "prelude"
        def @main(%x: Option[int64]) { match (%x) { None => Some(1i64), Some(%y) => None } }"""
        for f in self.ways(text):
            self.assertEqual(int(f(None)), 1)
            self.assertIsNone(f(3))

    def test_results_are_the_callers(self):
        x = f32(1, 2, 3, 4)
        for f in self.ways("def @main(%x: Tensor[(4), float32]) { %x }"):
            result = f(x)
            result[0] = 100
            self.assertEqual(x[0], 1)
            self.assertEqual(f(x)[0], 1)

    def test_results_that_are_inputs_are_written_whole(self):
        model = relay.parse("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { (%y, %x) }")
        for f in (lambda *a, **named: relay.interpret(model, *a, **named), relay.jit(model)):
            x, y = f32(1, 2, 3, 4), f32(5, 6, 7, 8)
            f(x, y, out=(x, y))
            np.testing.assert_array_equal([x, y], [[5, 6, 7, 8], [1, 2, 3, 4]])
            both = np.arange(8, dtype=np.float32)
            f(both[:4], y, out=(np.empty(4, np.float32), both[1:5]))
            np.testing.assert_array_equal(both, [0, 0, 1, 2, 3, 5, 6, 7])

    def test_arrays_may_go_after_the_call(self):
        for f in self.ways(SUM):
            results = [f(np.full((2, 3), i, np.float32), np.zeros(3, np.float32)) for i in range(20)]
            gc.collect()
            for i, result in enumerate(results):
                np.testing.assert_array_equal(result, np.full((2, 3), i))

    def test_calls_keep_nothing(self):
        x, y = np.ones((2, 3), np.float32), f32(1, 2, 3)
        for f in self.ways(SUM):
            f(x, y)
            before = sys.getrefcount(x)
            result = f(x, y)
            self.assertEqual(sys.getrefcount(x), before)
            gone = weakref.ref(result)
            del result
            self.assertIsNone(gone())
            if not isinstance(f, relay.Executable | relay.Compiled):
                continue
            gone = weakref.ref(f)
            del f
            gc.collect()
            self.assertIsNone(gone())

    def test_asyncio(self):
        async def both(f, x):
            return await asyncio.gather(f.run_async(x, y=f32(1, 2, 3)), f.run_async(x, f32(4, 5, 6)))

        x = np.ones((2, 3), np.float32)
        for f in list(self.ways(SUM))[1:]:
            a, b = asyncio.run(both(f, x))
            np.testing.assert_array_equal(a, x + f32(1, 2, 3))
            np.testing.assert_array_equal(b, x + f32(4, 5, 6))

    def test_many_threads(self):
        for f in list(self.ways(SUM))[1:]:
            wrong = []

            def work(seed):
                x = np.full((2, 3), seed, np.float32)
                for _ in range(50):
                    if not np.array_equal(f(x, f32(1, 2, 3)), x + f32(1, 2, 3)):
                        wrong.append(seed)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(wrong, [])


class Foreign:
    """A tensor of another package: memory behind DLPack."""

    def __init__(self, array, old=False):
        self.array, self.old, self.asked = array, old, 0

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("max_version")
        self.asked += 1
        return self.array.__dlpack__()


class DLPackTest(unittest.TestCase):
    def test_tensors_of_other_packages(self):
        f = relay.jit(relay.parse(SUM))
        x = np.ones((2, 3), np.float32)
        for old in (True, False):
            foreign = Foreign(x, old)
            np.testing.assert_array_equal(f(foreign, f32(1, 2, 3)), x + f32(1, 2, 3))
            self.assertEqual(foreign.asked, 1)

    def test_results_go_back_without_a_copy(self):
        result = relay.jit(relay.parse(SUM))(np.ones((2, 3), np.float32), f32(1, 2, 3))
        self.assertEqual(np.from_dlpack(result).ctypes.data, result.ctypes.data)


class ArtifactTest(unittest.TestCase):
    def test_a_compiled_model_is_saved_and_opened(self):
        f = relay.compile(relay.parse(SUM), level=1, name="sum")
        x, y = np.ones((2, 3), np.float32), f32(1, 2, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sum.so"
            f.save(path)
            del f
            gc.collect()
            g = relay.open(path, threads=2)
            self.assertEqual((g.inputs, g.outputs, g.description["name"]), (["x", "y"], ["output"], "sum"))
            np.testing.assert_array_equal(g(x, y), x + y)
            with self.assertRaises(OSError):
                g.save(pathlib.Path(folder) / "nowhere" / "sum.so")

    def test_a_model_stays_while_its_file_is_replaced(self):
        x, y = np.ones((2, 3), np.float32), f32(1, 2, 3)
        f, g = (relay.compile(relay.parse(text), level=1) for text in (SUM, SUM.replace("add", "subtract")))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.so"
            f.save(path)
            before = relay.open(path)
            g.save(path)
            after = relay.open(path)
            np.testing.assert_array_equal(before(x, y), x + y)
            np.testing.assert_array_equal(after(x, y), x - y)
            np.testing.assert_array_equal(relay.open(path)(x, y), x - y)

    def test_what_is_no_artifact_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "some.so"
            path.write_text("nothing")
            os.mkfifo(pathlib.Path(folder) / "pipe.so")
            for wrong in (path, pathlib.Path(folder) / "absent.so", pathlib.Path(folder), pathlib.Path(folder) / "pipe.so"):
                with self.assertRaises(relay.DiagnosticError) as caught:
                    relay.open(wrong)
                self.assertEqual(caught.exception.slug, "cannot-load")


class VerifyTest(unittest.TestCase):
    def test_a_report(self):
        x, y = np.ones((2, 3), np.float32), f32(1, 2, 3)
        model = relay.parse(SUM)
        report = relay.verify(model, {"x": x, "y": y}, engines=["interp", "jit"], levels=[0, 2])
        self.assertTrue(report.ok)
        self.assertEqual([(r.engine, r.level) for r in report.rows], [("interp", None), ("jit", 0), ("jit", 2)])
        self.assertIn("jit -O2", str(report))
        self.assertEqual(report.worst.verdict, "agrees")
        self.assertEqual([r["verdict"] for r in report.to_dict()["rows"]], ["agrees"] * 3)

    def test_the_outputs_of_another_program(self):
        x, y = np.ones((2, 3), np.float32), f32(1, 2, 3)
        model = relay.parse(SUM)
        good = relay.verify(model, [x, y], engines=["jit"], levels=[2], expected=x + y)
        self.assertTrue(good.ok)
        bad = relay.verify(model, [x, y], engines=["jit"], levels=[2], expected={"output": x})
        self.assertFalse(bad.ok)
        self.assertEqual((bad.worst.engine, bad.worst.verdict), ("expected", "differs"))


if __name__ == "__main__":
    unittest.main()
