#!/usr/bin/python3
"""The stubs have the names that the extension module and the operators have, with their parameters, and no others.
`stub_test.py --update` writes that of the operators."""

import ast
import os
import pathlib
import re
import sys
import types
import unittest

import relay
from relay import _relay, display

STUB = pathlib.Path(relay.__file__).with_name("_relay.pyi")
OPS_STUB = STUB.with_name("ops.pyi")
UPDATE = "--update" in sys.argv
# What an exception has as soon as it is raised.
SET_WHEN_RAISED = {"Error"}


def public(names):
    return {n for n in names if not n.startswith("_")}


def names_in(body):
    """The names that these statements define, of functions, classes and annotated variables."""
    found = {s.name for s in body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    found |= {s.target.id for s in body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}
    return found | {a.asname for s in body if isinstance(s, ast.ImportFrom) for a in s.names if a.asname}


def functions_in(body, prefix=""):
    """The functions of these statements and of their classes: "nn.conv2d"."""
    found = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            found.add(prefix + statement.name)
        elif isinstance(statement, ast.ClassDef):
            found |= functions_in(statement.body, f"{prefix}{statement.name}.")
    return found


def operators_in(module, prefix=""):
    found = set()
    for name, value in vars(module).items():
        if isinstance(value, types.ModuleType):
            found |= operators_in(value, f"{prefix}{name}.")
        elif not name.startswith("__"):
            found.add(prefix + name)
    return found


ANY = object()  # a default that the stub leaves open


def default_of(node):
    """None if the parameter has to be given, else a tuple of the value."""
    if node is None:
        return None
    return (ANY if isinstance(node, ast.Constant) and node.value is ... else ast.literal_eval(node),)


def parameters_of(function):
    """What a call must respect: each parameter's name, how it is given, and its default."""
    given, out = function.args, []
    placed = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(placed) - len(given.defaults)) + given.defaults
    out += [(a.arg, "by place", default_of(d)) for a, d in zip(placed, defaults) if a.arg != "self"]
    out += [(a.arg, "by name", default_of(d)) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    return out, given.vararg is not None, given.kwarg is not None


def bound_signatures(function):
    """Those in the docstring of a bound function: pybind11's, or the one by hand of a function that takes anything."""
    first, _, rest = (function.__doc__ or "").partition("\n\n")
    found = []
    for line in (first, rest.partition("\n\n")[0]):
        line = line.replace("\n", " ").replace(": handle", ": object")
        if re.match(r"\w+\(.*\)( -> .*)?$", line):
            found += ast.parse(f"def {line}: ...").body
    return found[-1:]


def is_named(parameters):
    """Have all parameters names of their own? pybind11 calls the others arg0, arg1, ..."""
    return not any(re.fullmatch(r"arg\d+", name) for name, _, _ in parameters)


class StubTest(unittest.TestCase):
    def setUp(self):
        self.stub = ast.parse(STUB.read_text(encoding="utf-8"))

    def test_names_of_the_module(self):
        self.assertEqual(public(names_in(self.stub.body)), public(vars(_relay)))
        self.assertEqual(set(relay.__all__), public(vars(_relay)) | {"Data"})

    def test_names_of_classes(self):
        compared = 0
        for statement in self.stub.body:
            if not isinstance(statement, ast.ClassDef) or statement.name in SET_WHEN_RAISED | {"_DLPack", "_Message"}:
                continue
            own = getattr(_relay, statement.name)
            self.assertEqual(public(names_in(statement.body)), public(vars(own)), statement.name)
            compared += len(statement.body)
        self.assertGreater(compared, 30)

    def test_classes_that_show_themselves(self):
        typed = {s.name for s in self.stub.body if isinstance(s, ast.ClassDef) and "_repr_html_" in names_in(s.body)}
        self.assertEqual(typed, set(display.SHOWN))
        self.assertEqual(typed, {name for name, value in vars(_relay).items() if hasattr(value, "_repr_html_")})

    def same_parameters(self, statement, bound, name):
        """How many functions were compared: 0 or 1."""
        signatures = bound_signatures(bound)
        if not signatures:
            return 0
        (in_stub, *more), (in_module, *more_there) = parameters_of(statement), parameters_of(signatures[0])
        if not is_named(in_module):
            return 0
        if more_there[1] and "out" not in [p[0] for p in in_module]:
            in_stub = [p for p in in_stub if p[0] != "out"]  # a call takes it out of **kwargs
        self.assertEqual([p[:2] for p in in_stub], [p[:2] for p in in_module], name)
        self.assertEqual(more, more_there, name)
        for (parameter, _, written), (_, _, real) in zip(in_stub, in_module):
            self.assertEqual(written is None, real is None, f"{name}: has `{parameter}` a default?")
            if written is not None and written[0] is not ANY:
                self.assertEqual(written, real, f"{name}: the default of `{parameter}`")
        return 1

    def test_parameters(self):
        compared = 0
        for statement in self.stub.body:
            if isinstance(statement, ast.FunctionDef):
                with self.subTest(function=statement.name):
                    compared += self.same_parameters(statement, getattr(_relay, statement.name), statement.name)
            if not isinstance(statement, ast.ClassDef) or not hasattr(_relay, statement.name):
                continue
            own = vars(getattr(_relay, statement.name))
            for method in statement.body:
                bound = own.get(method.name) if isinstance(method, ast.FunctionDef) else None
                if bound is None or isinstance(bound, property) or method.name == "__exit__":  # it takes anything
                    continue
                with self.subTest(method=f"{statement.name}.{method.name}"):
                    compared += self.same_parameters(method, bound, f"{statement.name}.{method.name}")
        self.assertGreater(compared, 50)

    def test_the_comparison_finds_what_is_wrong(self):
        (real,) = bound_signatures(relay.open)
        self.assertEqual(parameters_of(real), ([("path", "by place", None), ("threads", "by name", (0,))], False, False))
        for wrong in ("(path, threads=0)", "(path, *, threads=1)", "(path, *, threads)", "(file, *, threads=0)", "(path)",
                      "(path, *, threads=0, **more)"):
            (statement,) = ast.parse(f"def open{wrong}: ...").body
            with self.assertRaises(AssertionError, msg=wrong):
                self.same_parameters(statement, relay.open, "open")
        (open_default,) = ast.parse("def open(path, *, threads=...): ...").body
        self.assertEqual(self.same_parameters(open_default, relay.open, "open"), 1)

    def test_operators(self):
        if UPDATE:
            OPS_STUB.write_text(_relay._ops_stub(), encoding="utf-8")
        text = OPS_STUB.read_text(encoding="utf-8")
        written = functions_in(ast.parse(text).body)
        self.assertGreater(len(written), 250)
        self.assertEqual(written, operators_in(relay.ops))
        self.assertEqual(text, _relay._ops_stub(), "make the stub again: ./dev update")

    def test_parts_of_errors(self):
        (error,) = [s for s in self.stub.body if isinstance(s, ast.ClassDef) and s.name == "Error"]
        with self.assertRaises(relay.Error) as caught:
            relay.parse("def")
        self.assertEqual(names_in(error.body), public(vars(caught.exception)))


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--update"]
    if UPDATE and "BUILD_WORKSPACE_DIRECTORY" in os.environ:
        OPS_STUB = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"], "python/relay/ops.pyi")
    unittest.main()
