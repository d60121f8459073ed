"""Values of data types."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Data:
    """A constructor of a data type, applied to fields: `Data("Node", (left, x, right))`.

    Lists and options have forms of their own in Python: a list, and None or the value.
    """

    constructor: str
    fields: tuple[Any, ...] = ()
