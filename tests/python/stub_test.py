#!/usr/bin/python3
"""The stubs have the names that the extension module and the operators have, and no others."""

import ast
import pathlib
import types
import unittest

import relay
from relay import _relay

STUB = pathlib.Path(relay.__file__).with_name("_relay.pyi")
OPS_STUB = STUB.with_name("ops.pyi")
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


class StubTest(unittest.TestCase):
    def setUp(self):
        self.stub = ast.parse(STUB.read_text(encoding="utf-8"))

    def test_names_of_the_module(self):
        self.assertEqual(public(names_in(self.stub.body)), public(vars(_relay)))
        self.assertEqual(set(relay.__all__), public(vars(_relay)) | {"Data"})

    def test_names_of_classes(self):
        compared = 0
        for statement in self.stub.body:
            if not isinstance(statement, ast.ClassDef) or statement.name in SET_WHEN_RAISED | {"_DLPack"}:
                continue
            own = getattr(_relay, statement.name)
            self.assertEqual(public(names_in(statement.body)), public(vars(own)), statement.name)
            compared += len(statement.body)
        self.assertGreater(compared, 30)

    def test_operators(self):
        text = OPS_STUB.read_text(encoding="utf-8")
        written = functions_in(ast.parse(text).body)
        self.assertGreater(len(written), 250)
        self.assertEqual(written, operators_in(relay.ops))
        self.assertEqual(text, _relay._ops_stub(), "make the stub again: docs/python.md says how")

    def test_parts_of_errors(self):
        (error,) = [s for s in self.stub.body if isinstance(s, ast.ClassDef) and s.name == "Error"]
        with self.assertRaises(relay.Error) as caught:
            relay.parse("def")
        self.assertEqual(names_in(error.body), public(vars(caught.exception)))


if __name__ == "__main__":
    unittest.main()
