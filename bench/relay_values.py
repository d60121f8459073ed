"""Lists, trees and other data types for compiled models with control flow, beside the tensors of relay_so.py.

    values = Values(context)
    tree = Data("Node", (x, Data("Nil")))          # NumPy arrays, tuples and constructors
    call = values.bind([tree])
    call()                                          # as often as you like
    result = call.result()                          # copied out, in the same form
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from relay_so import Context, Handle, RelayError, ValueView, array_of, explain, tensor_of

TENSOR, TUPLE = 0, 1  # relay_value_kind


@dataclass(frozen=True)
class Data:
    """A constructor of a data type, applied to fields."""

    constructor: str
    fields: tuple[Any, ...] = ()


class Values:
    """Makes values of a context, and looks at them."""

    def __init__(self, context: Context, description: dict[str, Any]) -> None:
        self._context = context
        self._api, self._handle = context.api, context.handle
        self._types = description["types"]
        self._parameters = [parameter["type"] for parameter in description["parameters"]]

    def bind(self, arguments: list[Any]) -> "BoundCall":
        """The program's arguments, made once."""
        if len(arguments) != len(self._parameters):
            raise RelayError(f"{len(arguments)} arguments were given and the program takes {len(self._parameters)}")
        return BoundCall(self, [self.make(kind, value) for kind, value in zip(self._parameters, arguments)])

    def make(self, kind: int, value: Any) -> Handle:
        """The value with that number of a type. Lists are long, so this is a loop over fields that wait."""
        done: list[Handle] = []
        steps: list[tuple[int, Any, int]] = [(kind, value, -1)]  # type, value, and -1 or the constructor to be applied
        while steps:
            number, now, constructor = steps.pop()
            if constructor >= 0:
                count = len(fields_of(now))
                first = len(done) - count
                fields, done = done[first:], done[:first]
                done.append(self._node(number, constructor, fields))
                continue
            entry = self._types[number]
            if entry["kind"] == "tensor":
                done.append(self._tensor(number, now))
                continue
            constructor, kinds = self._shape_of(entry, now)
            steps.append((number, now, constructor))
            steps.extend((k, f, -1) for k, f in reversed(list(zip(kinds, fields_of(now)))))
        return done.pop()

    def read(self, value: Handle) -> Any:
        """A copy, and the value is freed."""
        # Each step is a value to look at, or a constructor for the last results; (name, count) of a tuple has no name.
        done: list[Any] = []
        steps: list[tuple[Handle | None, str, int]] = [(value, "", 0)]
        while steps:
            handle, name, count = steps.pop()
            if handle is None:
                first = len(done) - count
                fields, done = tuple(done[first:]), done[:first]
                done.append(Data(name, fields) if name else fields)
                continue
            view = self._look(handle)
            if view.kind == TENSOR:
                done.append(array_of(view.tensor))
            else:
                entry = self._types[view.type]
                name = "" if view.kind == TUPLE else entry["constructors"][view.constructor]["name"]
                steps.append((None, name, view.field_count))
                steps.extend((self._field(handle, i), "", 0) for i in reversed(range(view.field_count)))
            self.free(handle)
        return done.pop()

    def call(self, arguments: Any, count: int) -> Handle:
        """Runs the program."""
        result = Handle()
        self._must(self._api.call(self._handle, arguments, count, ctypes.byref(result)))
        return result

    def free(self, value: Handle) -> None:
        """Ends a value."""
        self._api.value_free(self._handle, value)

    def _shape_of(self, entry: dict[str, Any], value: Any) -> tuple[int, list[int]]:
        """The number of the constructor, and the types of its fields."""
        if entry["kind"] == "tuple":
            return 0, entry["fields"]
        for number, constructor in enumerate(entry["constructors"]):
            if isinstance(value, Data) and constructor["name"] == value.constructor:
                return number, constructor["fields"]
        raise RelayError(f"{value!r:.40} is no value of {entry['type']}")

    def _tensor(self, kind: int, array: np.ndarray) -> Handle:
        result = Handle()
        self._must(self._api.value_tensor(self._handle, kind, ctypes.byref(tensor_of(array)), ctypes.byref(result)))
        return result

    def _node(self, kind: int, constructor: int, fields: list[Handle]) -> Handle:
        result = Handle()
        list_of = (Handle * len(fields))(*fields)
        self._must(
            self._api.value_node(self._handle, kind, constructor, list_of, len(fields), ctypes.byref(result))
        )
        for field in fields:
            self.free(field)
        return result

    def _look(self, value: Handle) -> ValueView:
        view = ValueView(struct_size=ctypes.sizeof(ValueView))
        self._must(self._api.value_look(self._handle, value, ctypes.byref(view)))
        return view

    def _field(self, value: Handle, index: int) -> Handle:
        result = Handle()
        self._must(self._api.value_field(self._handle, value, index, ctypes.byref(result)))
        return result

    def _must(self, status: int) -> None:
        if status:
            raise RelayError(explain(status, self._context.error()))


class BoundCall:
    """A program with its arguments: call it to run."""

    def __init__(self, values: Values, arguments: list[Handle]) -> None:
        self._values = values
        self._arguments = (Handle * len(arguments))(*arguments)
        self._count = len(arguments)
        self._last: Handle | None = None

    def __call__(self) -> None:
        if self._last is not None:
            self._values.free(self._last)
            self._last = None
        self._last = self._values.call(self._arguments, self._count)

    def result(self) -> Any:
        """What the last run gave, copied out once."""
        if self._last is None:
            raise RelayError("there is no result: run first")
        last, self._last = self._last, None
        return self._values.read(last)


def fields_of(value: Any) -> tuple[Any, ...]:
    """Of a tuple or a constructor."""
    return value.fields if isinstance(value, Data) else tuple(value)
