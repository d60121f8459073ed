#!/usr/bin/python3
"""Objects of every class that are pickled, copied, or made in an unusual way: an exception at worst, never a crash."""

import copy
import os
import pickle
import signal
import unittest
import warnings
import weakref

import numpy as np

import relay
from relay import _relay

PICKLED = {"Compiled", "Data", "Diagnostic", "DiagnosticError", "DiagnosticWarning", "Dim", "Executable", "LimitError", "Error",
           "Module", "Span", "TrapError", "Type"}
CLASSES = {name: value for name in relay.__all__ if isinstance(value := getattr(relay, name), type)}
BOUND = {name: value for name, value in CLASSES.items() if value.__module__ == "relay._relay" and "__reduce_ex__" in vars(value)}


def raised(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("nothing was raised")


def objects():
    """One of each class, by its name."""
    net = relay.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(add(%x, 1f)) }", name="net.relay")
    lowered = net.run("fuse")
    b = relay.Builder()
    tree = b.data("Tree", Leaf=(), Node=("Tree", "Tree"))
    (call, *_) = [e for e in net.expressions() if e.kind == "call"]
    session = relay.debug(net, np.ones(2, np.float32), breakpoints=["nn.relu"]).go()
    report = relay.verify(net, np.ones(2, np.float32), engines=["interp"])
    wrong = raised(relay.DiagnosticError, lambda: relay.parse("def @main(%x: int64) { add(%x, %y) }"))
    divided = raised(relay.TrapError, lambda: relay.interpret(relay.parse("def @main(%x: int32) { divide(1i32, %x) }"), 0))
    loop = relay.parse("def @main(%x: int64) -> int64 { @main(%x) }")
    limited = raised(relay.LimitError, lambda: relay.interpret(loop, 1, fuel=100))
    pattern = relay.pattern("nn.relu(%a)")
    made = [net, lowered.report, lowered.report.rows[0], b, tree, tree.Leaf, call, session, report, report.rows[0], wrong,
            wrong.diagnostics[0], wrong.span, divided, limited, pattern, pattern.matches(net)[0], net["main"],
            relay.parse("type T { A }\ndef @main(%x: int64) { %x }").types["T"], relay.passes()[0], relay.Dim("n"),
            relay.Type("int64"), relay.Data("A"), relay.jit(net), relay.compile(net, level=1), session.frames[0],
            session.breakpoints[0], relay.Error("text"), relay.DiagnosticWarning("text")]
    return {type(x).__name__: x for x in made}


class ObjectsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.objects = objects()

    def test_every_class_is_here(self):
        self.assertEqual(set(self.objects), set(CLASSES))
        self.assertGreater(len(BOUND), 20)

    def test_weak_references(self):
        for name, value in self.objects.items():
            with self.subTest(name):
                self.assertIs(weakref.ref(value)(), value)

    def copies(self, value):
        """Each way to copy the object, by its name."""
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            yield f"protocol {protocol}", lambda p=protocol: pickle.loads(pickle.dumps(value, p))
        yield "copy", lambda: copy.copy(value)
        yield "deepcopy", lambda: copy.deepcopy(value)

    def test_copies(self):
        for name, value in self.objects.items():
            for way, call in self.copies(value):
                with self.subTest(name, way=way):
                    if name in PICKLED:
                        self.assertIs(type(call()), type(value))
                    else:
                        with self.assertRaisesRegex(TypeError, f"cannot pickle '(relay._relay.)?{name}' object"):
                            call()

    def test_a_copy_is_equal(self):
        x = np.ones(2, np.float32)
        for name in ("Executable", "Compiled"):
            for way, call in self.copies(self.objects[name]):
                with self.subTest(name, way=way):
                    np.testing.assert_array_equal(call()(x), [2, 2])
        for way, call in self.copies(self.objects["Module"]):
            self.assertEqual(call().text(), self.objects["Module"].text(), way)

    def test_copies_of_types_and_extents(self):
        generic = relay.parse("def @id[A](%x: A) -> A { %x }\ndef @main(%x: int32) { @id(%x) }")["id"].type
        for value in (relay.Type("int64"), relay.Type("(Tensor[(n, 2*n + 1, ?), float16], fn(bool) -> ())"), generic,
                      relay.Dim("n"), relay.Dim("2*n // 3"), relay.Dim("7")):  # fmt: skip
            for way, call in self.copies(value):
                with self.subTest(str(value), way=way):
                    self.assertEqual(call(), value)
                    self.assertEqual(hash(call()), hash(value))
        tree = relay.parse("type Tree { Leaf, Node(Tree, Tree) }\ndef @main(%x: Tree) { %x }")["main"].type
        self.assertEqual(copy.deepcopy(tree), tree)
        with self.assertRaisesRegex(TypeError, "Tree.* cannot be pickled alone.*: pickle the module"):
            pickle.dumps(tree)

    def test_functions(self):
        for name in set(relay.__all__) - set(CLASSES):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with self.subTest(name, protocol=protocol):
                    try:
                        pickle.dumps(getattr(relay, name), protocol)
                    except (TypeError, pickle.PicklingError):
                        pass  # a function of C++ has no pickle

    def uses(self, value):
        """What can be done with any object: its operators, and each method and property of its class."""
        yield "copy", lambda: copy.copy(value)
        if type(value).__repr__ is not object.__repr__:
            yield "repr", lambda: repr(value)
        for name, member in vars(type(value)).items():
            if isinstance(member, property):
                yield name, lambda name=name: getattr(value, name)
            elif callable(member) and name not in {"__init__", "__new__", "__setstate__", "__reduce_ex__"}:
                for arguments in ((), (1,), (value,), ("x",)):
                    yield name, lambda name=name, arguments=arguments: getattr(type(value), name)(value, *arguments)

    def test_objects_of_new_alone(self):
        for name, kind in BOUND.items():
            value = kind.__new__(kind)
            for what, call in self.uses(value):
                with self.subTest(name, what=what):
                    with self.assertRaises(TypeError):
                        call()

    def test_objects_of_new_alone_as_arguments(self):
        net, x = self.objects["Module"], np.ones(2, np.float32)
        jitted, b, call = self.objects["Executable"], self.objects["Builder"], self.objects["Expr"]
        for name, kind in BOUND.items():
            value = kind.__new__(kind)
            for what, use in (("jit", lambda: relay.jit(value)), ("call", lambda: jitted(value)), ("run", lambda: net.run(value)),
                              ("add", lambda: call + value), ("const", lambda: relay.const(value)),
                              ("trace", lambda: relay.trace(lambda y: y, [value])), ("type", lambda: relay.Tensor((value,))),
                              ("data", lambda: b.data("T", A=(value,))), ("verify", lambda: relay.verify(value, x)),
                              ("relu", lambda: relay.ops.nn.relu(value)), ("let", lambda: relay.let(value))):
                with self.subTest(name, what=what):
                    with self.assertRaises(TypeError):
                        use()
        with self.assertRaisesRegex(TypeError, "only __new__ made has no value"):
            relay.jit(relay.Module.__new__(relay.Module))

    def test_the_value_may_come_later(self):
        for name, arguments in (("Dim", ("n",)), ("Type", ("int64",)), ("Builder", ())):
            value = CLASSES[name].__new__(CLASSES[name])
            value.__init__(*arguments)
            self.assertIn(name, repr(value))
        value = relay.Module.__new__(relay.Module)
        value.__setstate__(self.objects["Module"].__getstate__())
        self.assertEqual(value.text(), self.objects["Module"].text())

    def test_classes_that_nobody_calls(self):
        for name in set(BOUND) - {"Builder", "Dim", "Type"}:
            with self.assertRaisesRegex(TypeError, "No constructor defined"):
                BOUND[name]()

    def test_subclasses(self):
        class Mine(relay.Builder):
            pass

        class Forgetful(relay.Builder):
            def __init__(self):
                pass

        self.assertIsInstance(Mine(), relay.Builder)
        with self.assertRaisesRegex(TypeError, "__init__"):
            Forgetful()

    def test_the_base_of_all_classes(self):
        base = relay.Module.__base__
        self.assertEqual({c.__base__ for c in BOUND.values()}, {base})
        for make in (base, lambda: base(relay.Dim("n")), lambda: base.__new__(base), type("Mine", (base,), {})):
            with self.assertRaises(TypeError):
                make()


# What no function asks for, and what some do.
ODD = [None, 3, -1, 2**70, 1.5, float("nan"), "x", "", "\ud800", "main", b"", [], [1], {}, {1: 2}, (), (1, 2), object(), np.ones(2),
       np.ones(2, np.float32), np.float32(1), np.ones((2, 2), object), lambda *a: None, int, relay.Data("x", (1,)), True, range(3)]
# Compiling takes seconds; what reads and writes files has tests of its own.
LONG = {"compile", "verify", "load", "save"}
FINE = (TypeError, ValueError, relay.Error, LookupError, AttributeError, ArithmeticError, OSError)


class OddArgumentsTest(unittest.TestCase):
    """Every function and method, with no, one and two odd arguments: an exception that is no text of pybind11's, or a result."""

    @staticmethod
    def functions():
        for name, value in vars(_relay).items():
            if callable(value) and not isinstance(value, type) and not name.startswith("_"):
                yield name, name, value
        for owner, value in objects().items():
            for name, member in vars(type(value)).items() if owner in BOUND else ():
                if callable(member) and name not in {"__init__", "__new__", "run_async"}:
                    yield name, f"{owner}.{name}", lambda *args, f=member, value=value: f(value, *args)

    @staticmethod
    def wrong(function):
        """What the calls raise that they should not."""
        found = []
        values = [*ODD, *(kind.__new__(kind) for kind in (relay.Module, relay.Expr, relay.Type))]
        for args in ((), *((a,) for a in values), *((a, b) for a in values[::3] for b in values)):
            try:
                function(*args)
            except FINE as error:
                text = str(error)
                if "incompatible" in text or "Unable to cast" in text:
                    found.append(text)
            except BaseException as error:
                found.append(repr(error))
        return found

    def test_they_are_refused(self):
        """Each in a process of its own: a crash has a name, and a model that is closed is so there alone."""
        compared = 0
        for name, shown, function in self.functions():
            if name in LONG:
                continue
            compared += 1
            reads, writes = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reads)
                signal.alarm(60)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    os.write(writes, "\n".join(self.wrong(function)).encode(errors="replace")[:4000])
                os._exit(0)
            os.close(writes)
            with os.fdopen(reads, errors="replace") as said:
                text = said.read()
            with self.subTest(shown):
                self.assertEqual((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text), (0, ""))
        self.assertGreater(compared, 100)


if __name__ == "__main__":
    unittest.main()
