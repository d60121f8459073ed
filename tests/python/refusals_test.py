#!/usr/bin/python3
"""Arguments of functions of the package that are of a wrong type: the TypeError names the argument and what it takes."""

import unittest

import numpy as np

import relay

TEXT = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"


class RefusalsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = relay.parse(TEXT)
        cls.x = np.ones(2, np.float32)

    def check(self, call, *says):
        with self.assertRaises(TypeError) as caught:
            call()
        text = str(caught.exception)
        self.assertNotIn("incompatible", text)
        self.assertNotIn("Invoked with", text)
        for part in says:
            self.assertIn(part, text)

    def test_types(self):
        m, x = self.model, self.x
        pattern, session, builder = relay.pattern("nn.relu(%a)"), relay.debug(m, x), relay.Builder()
        table = [
            (lambda: relay.parse(3), "argument `text` is of the type int, and relay.parse takes a str"),
            (lambda: relay.parse(TEXT, 3), "argument `name` is of the type int, and relay.parse takes a str"),
            (lambda: relay.parse(TEXT, function=3), "argument `function` is of the type int", "a str or None"),
            (lambda: relay.parse("\ud800"), "argument `text` is a text that UTF-8 cannot hold"),
            (lambda: relay.parse(TEXT, None), "argument `name` is of the type NoneType, and relay.parse takes a str"),
            (lambda: relay.open("\ud800"), "argument `path` is a text that no path can be"),
            (lambda: relay.open("a\0b"), "argument `path` is a text that no path can be"),
            (lambda: m.text(x), "argument `elide` is of the type ndarray, and relay.Module.text takes True or False"),
            (lambda: session.delete(x), "argument `number` is of the type ndarray"),
            (lambda: relay.load(3), "argument `path` is of the type int, and relay.load takes a path"),
            (lambda: relay.load("m.onnx", shapes=[1]), "argument `shapes` is of the type list", "a dict from a str to a list"),
            (lambda: relay.load("m.onnx", shapes={"x": [1.5]}), "argument `shapes` has an item that has an item that is of the type float"),
            (lambda: relay.load("m.onnx", libraries="a.so"), "argument `libraries` is of the type str", "a list, each element a path"),
            (lambda: relay.jit(m, level="a"), "argument `level` is of the type str, and relay.jit takes an integer"),
            (lambda: relay.jit(TEXT), "argument `module` is of the type str, and relay.jit takes a relay.Module"),
            (lambda: relay.jit(m, threads=2**40), "argument `threads` is 1099511627776, which is out of range"),
            (lambda: relay.jit(m, target=3), "argument `target` is of the type int"),
            (lambda: relay.compile(m, threads="a"), "argument `threads` is of the type str, and relay.compile takes an integer"),
            (lambda: relay.compile(m, threads=1.5), "argument `threads` is of the type float"),
            (lambda: relay.open(3), "argument `path` is of the type int, and relay.open takes a path"),
            (lambda: relay.Dim(3), "argument `text` is of the type int, and relay.Dim takes a str"),
            (lambda: relay.Type(3), "argument `text` is of the type int, and relay.Type takes a str"),
            (lambda: relay.Builder(3), "argument `text` is of the type int, and relay.Builder takes a str or None"),
            (lambda: m[3], "argument `name` is of the type int, and relay.Module.__getitem__ takes a str"),
            (lambda: 3 in m, "argument `name` is of the type int"),
            (lambda: m.run(level="a"), "argument `level` is of the type str, and relay.Module.run takes an integer"),
            (lambda: m.expressions(3), "argument `function` is of the type int"),
            (lambda: relay.verify(m, x, engines=3), "argument `engines` is of the type int", "a list, each element a str"),
            (lambda: relay.verify(m, x, levels="a"), "argument `levels` has an item that is of the type str", "an integer"),
            (lambda: relay.verify(m, x, levels=1.5), "argument `levels` is of the type float"),
            (lambda: relay.verify(3, x), "argument `module` is of the type int"),
            (lambda: relay.interpret(3), "argument 1 is of the type int, and relay.interpret takes a relay.Module"),
            (lambda: relay.trace(3, []), "argument `function` is of the type int, and relay.trace takes a function"),
            (lambda: relay.Tensor(3), "argument `shape` is of the type int"),
            (lambda: relay.let(self.model, 3), "argument `name` is of the type int"),
            (lambda: relay.match(3, []), "argument `arms` is of the type list, and relay.match takes a dict"),
            (lambda: relay.pipeline("a"), "argument `level` is of the type str"),
            (lambda: relay.pattern(3), "argument `text` is of the type int"),
            (lambda: relay.pattern("_", module=3), "argument `module` is of the type int", "a relay.Module"),
            (lambda: pattern.rewrite(3, "%a"), "argument `module` is of the type int, and relay.Pattern.rewrite takes"),
            (lambda: pattern.matches(m)[0][3], "argument `name` is of the type int"),
            (lambda: builder.data_type(3), "argument `name` is of the type int"),
            (lambda: builder[3], "argument `name` is of the type int"),
            (lambda: builder.module(3), "argument `function` is of the type int"),
            (lambda: session.break_at(3), "argument `where` is of the type int"),
            (lambda: session.delete("a"), "argument `number` is of the type str"),
            (lambda: session.delete(-1), "argument `number` is -1, which is out of range"),
            (lambda: relay.Module.__new__(relay.Module).__setstate__(3), "argument 1 is of the type int"),
        ]
        for call, *says in table:
            with self.subTest(says[0]):
                self.check(call, *says)

    def test_numbers_and_names(self):
        m = self.model
        table = [
            (lambda: relay.parse(), "argument `text` of relay.parse is missing"),
            (lambda: relay.parse(TEXT, "a", "b", "c"), "relay.parse takes 3 positional arguments, and 4 are given",
             "`text`, `name`, `function`"),
            (lambda: relay.jit(m, 2), "relay.jit takes 1 positional argument, and 2 are given"),
            (lambda: relay.jit(m, depth=2), "relay.jit has no argument `depth`", "`module`, `threads`, `level`"),
            (lambda: relay.parse(TEXT, text=TEXT), "argument `text` of relay.parse is given by its place and by its name"),
            (lambda: m.text(True, 3), "relay.Module.text takes 1 positional argument, and 2 are given"),
            (lambda: relay.passes(3), "relay.passes takes 0 positional arguments, and 1 are given: it takes none"),
            (lambda: relay.Dim(), "argument `text` of relay.Dim is missing"),
        ]
        for call, *says in table:
            with self.subTest(says[0]):
                self.check(call, *says)

    def test_other_errors_stay_as_they_are(self):
        def wrong(module):
            raise TypeError("run(): incompatible function arguments")

        with self.assertRaisesRegex(TypeError, "^run\\(\\): incompatible function arguments$"):
            self.model.run(wrong)
        self.assertIs(relay.Dim("n").__eq__("n"), NotImplemented)
        with self.assertRaises(TypeError):
            relay.Dim("n") + object()

    def test_texts_that_utf_8_cannot_hold(self):
        for call in (lambda: self.model.run("\ud800"), lambda: relay.pattern("nn.relu(%a)").rewrite(self.model, "\ud800"),
                     lambda: relay.ops.nn.relu(self.x, **{"\ud800": 1})):
            with self.assertRaises(UnicodeEncodeError):
                call()

    def test_names_of_dtypes_that_mean_two(self):
        for name in ("int", "uint", "float"):
            for call in (lambda: relay.Tensor((2,), name), lambda: relay.trace(lambda x: x.astype(name), ["bool"]),
                         lambda: relay.trace(lambda x: relay.ops.cast(x, dtype=name), ["bool"])):
                with self.assertRaisesRegex(TypeError, f'"{name}" has 64 bits in NumPy and 32 in texts .* say "{name}32" or'):
                    call()
        self.assertEqual(str(relay.Tensor((2,), float)), "Tensor[(2), float64]")

    def test_an_expression_is_no_function_of_python(self):
        b = relay.Builder()
        f = b.function("int64", result="int64", name="f")(lambda x: x)
        with self.assertRaisesRegex(TypeError, "a relay.Expr is no function of Python: .* as lambda x: f\\(x\\)"):
            b.function("int64", name="main")(f)

    def test_an_empty_path(self):
        with self.assertRaisesRegex(ValueError, "argument `path` is empty"):
            relay.open("")

    def test_large_arguments_are_not_shown(self):
        with self.assertRaises(TypeError) as caught:
            relay.parse(np.zeros(100_000))
        self.assertLess(len(str(caught.exception)), 200)


if __name__ == "__main__":
    unittest.main()
