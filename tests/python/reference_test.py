#!/usr/bin/python3
"""docs/python-reference.md is what the stub and the docstrings say. `reference_test.py --update` writes it."""

import ast
import inspect
import os
import pathlib
import re
import sys
import unittest

import relay

PAGE = pathlib.Path("docs/python-reference.md")
PACKAGE = pathlib.Path(relay.__file__).parent
# What stands in files of Python is taken from there: the stub has what lies below it.
SOURCES = ("_relay.pyi", "data.py", "verification.py")
UPDATE = "--update" in sys.argv
# Methods that calls, `with`, `for` and `[]` stand for. Those of arithmetic are in docs/python.md.
SHOWN = {"__init__", "__call__", "__getitem__", "__len__", "__iter__", "__contains__", "__getattr__"}

HEAD = """# The Python package, object by object

[python.md](python.md) shows how to use the package. This page lists what it has: each function and class with its types, as type checkers see
them, and its docstring. It is made of both (`./dev update`). Names with `_` in signatures are explained at the end. `relay.ops` has the
operators, which [operators.md](operators.md) lists.
"""


def doc_of(value):
    """The docstring without the signature that pybind11 puts before it."""
    text = inspect.cleandoc(value.__doc__ or "")
    first, _, rest = text.partition("\n\n")
    is_signature = re.match(r"\w+\(.*\)( -> .*)?$", first.replace("\n", " ")) is not None
    return doc_of_text(rest) if is_signature else text


def doc_of_text(text):
    """Functions that take any arguments say by hand what they take."""
    first, _, rest = text.partition("\n\n")
    return rest if re.match(r"\w+\(.*\)$", first) else text.strip()


def signature_of(function, is_method):
    """As in the stub, without `self`."""
    arguments = re.sub(r"(?<=[\w\]])=(?=\S)", " = ", ast.unparse(function.args))
    if is_method:
        arguments = re.sub(r"^self(, /)?(, )?", "", arguments)
    result = "" if function.name == "__init__" else f" -> {ast.unparse(function.returns)}"
    return f"({arguments}){result}"


def shown_name(name, owner):
    if name == "__init__":
        return owner
    spelled = {"__call__": "", "__getitem__": "[...]", "__len__": "len", "__iter__": "iter", "__contains__": "in",
               "__getattr__": ".NAME"}
    return spelled.get(name, name)


def entry(title, doc):
    lines = [f"* `{title}`"]
    for paragraph in filter(None, doc.split("\n\n")):
        lines += [f"  {paragraph.replace(chr(10), ' ').strip()}", ""]
    return "\n".join(lines).rstrip()


def member_of(statement, owner):
    """A line of a class: a property, a method, or an attribute."""
    if isinstance(statement, ast.AnnAssign):
        return entry(f"{ast.unparse(statement.target)}: {ast.unparse(statement.annotation)}", "")
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    name = statement.name
    if name.startswith("_") and name not in SHOWN:
        return None
    value = inspect.getattr_static(getattr(relay, owner), name, None)
    doc = doc_of(value) if value is not None and not name.startswith("__") else ""
    if any(ast.unparse(d) == "property" for d in statement.decorator_list):
        return entry(f"{name}: {ast.unparse(statement.returns)}", doc)
    awaited = "await " if isinstance(statement, ast.AsyncFunctionDef) else ""
    return entry(awaited + shown_name(name, owner) + signature_of(statement, is_method=True), doc)


def section(statement):
    name = statement.name
    value = getattr(relay, name)
    if isinstance(statement, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, statement.bases))
        members = [m for m in (member_of(s, name) for s in statement.body) if m]
        parts = [f"## {name}", f"A subclass of `{bases}`. {doc_of(value)}" if bases else doc_of(value), "\n".join(members)]
    else:
        parts = [f"## {name}", f"`{name}{signature_of(statement, is_method=False)}`", doc_of(value)]
    return "\n\n".join(filter(None, parts))


def aliases(statements):
    """The names that signatures have for unions of types."""
    lines = [f"* `{s.target.id}`: `{ast.unparse(s.value)}`" for s in statements
             if isinstance(s, ast.AnnAssign) and ast.unparse(s.annotation) == "TypeAlias"]
    return "## Names in signatures\n\n" + "\n".join(lines)


def page():
    statements = [s for name in SOURCES for s in ast.parse((PACKAGE / name).read_text(encoding="utf-8")).body]
    shown = {s.name: s for s in statements
             if isinstance(s, ast.FunctionDef | ast.ClassDef) and s.name in relay.__all__}  # the last of a name
    functions = [s for s in shown.values() if isinstance(s, ast.FunctionDef)]
    classes = [s for s in shown.values() if isinstance(s, ast.ClassDef)]
    return "\n\n".join([HEAD.rstrip(), *map(section, functions + classes), aliases(statements)]) + "\n"


class ReferenceTest(unittest.TestCase):
    maxDiff = None

    def test_it_is_what_the_package_has(self):
        made = page()
        if UPDATE:
            PAGE.write_text(made, encoding="utf-8")
        self.assertEqual(made, PAGE.read_text(encoding="utf-8"), "make the page again: ./dev update")

    def test_it_has_every_object(self):
        titles = set(re.findall(r"^## (\w+)$", page(), re.MULTILINE))
        self.assertEqual(titles, set(relay.__all__) - {"ops"})

    def test_every_object_has_a_docstring(self):
        self.assertEqual([n for n in relay.__all__ if not doc_of(getattr(relay, n))], [])


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--update"]
    if UPDATE and "BUILD_WORKSPACE_DIRECTORY" in os.environ:
        PAGE = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"], PAGE)
    unittest.main()
