"""The table of operators that graphs are made of."""

from collections.abc import Callable
from dataclasses import dataclass

from ..draw import Draw
from . import activations, control_flow, elementwise, indexing, losses, movement, normalisation, placement, products
from . import quantisation, recurrent, reductions, resize, shapes, signal, sorting, vision, windows

FAMILIES = (
    elementwise, activations, windows, normalisation, products, reductions, shapes, movement, indexing, resize,
    quantisation, recurrent, control_flow, signal, sorting, losses, vision,
    placement,
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """How one operator is drawn, from `since` to `until` of the versions of the operator set."""

    draw: Callable[[Draw, str], None]
    since: int = 7
    until: int = 21
    exact: bool = False  # whole numbers give whole numbers, if no sum of them is large
    steps: bool = False  # an error of one ULP may change the result visibly, so it reads exact values alone


OPERATORS: dict[str, Row] = {name: Row(*row) for family in FAMILIES for name, row in family.ROWS.items()}
