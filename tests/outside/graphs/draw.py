"""What one operator is drawn with: values that fit it, new inputs and constants, attributes, random numbers."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, helper

Shape = tuple[int, ...]
Attributes = dict[str, object]

FLOATS = ("float32", "float32", "float32", "float32", "float64")
SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = ("int32", "int64", "int32", "int64", *SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, "float32", "float32", "int32", "int64", "uint8", "int8")
ANY = (*NUMBERS, "bool")

MOST_ELEMENTS = 20_000  # of a value
SMALL = (1, 2, 3, 4, 5, 7, 8)
PRIMES = (11, 13, 17, 19, 31)
LONG = (257, 509, 1031, 4099)


class NoFit(Exception):
    """The operator cannot be drawn here: another one is drawn in its place."""


@dataclass
class Value:
    """A tensor of the graph, with the elements that it has in the run to be compared."""

    name: str
    array: np.ndarray
    exact: bool  # whoever computes it gets the same bits, so a step function may read it
    constant: bool = False

    @property
    def shape(self) -> Shape:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def dtype(self) -> str:
        return str(self.array.dtype)


@dataclass
class Graph:
    """A graph while it grows."""

    opset: int
    inputs: list[Value] = field(default_factory=list)
    constants: list[Value] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)  # of the nodes, in order

    def values(self) -> list[Value]:
        return [*self.inputs, *self.constants, *self.results]


class Draw:
    """One operator while it is drawn. What it adds to the graph counts only if the whole node is accepted."""

    def __init__(self, graph: Graph, rng: random.Random, exact_only: bool) -> None:
        self.graph = graph
        self.rng = rng
        self.exact_only = exact_only
        self.new_inputs: list[Value] = []
        self.new_constants: list[Value] = []
        self.node: NodeProto | None = None
        self.read: list[Value] = []

    @property
    def opset(self) -> int:
        return self.graph.opset

    # --- Chance.

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def choose(self, items: Sequence):
        return self.rng.choice(items)

    def integer(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def real(self, low: float, high: float) -> float:
        """A float32, so that both sides read the same number."""
        return float(np.float32(round(self.rng.uniform(low, high), 3)))

    def extent(self, least: int = 0) -> int:
        roll = self.rng.random()
        if roll < 0.02 and least <= 0:
            return 0
        if roll < 0.14:
            return max(1, least)
        if roll < 0.24:
            return max(self.choose(PRIMES), least)
        if roll < 0.27:
            return max(self.choose(LONG), least)
        return max(self.choose(SMALL), least)

    def shape(self, low: int, high: int, least: int = 0) -> Shape:
        rank = self.integer(low, high)
        for _ in range(20):
            shape = tuple(self.extent(least) for _ in range(rank))
            if np.prod(shape, dtype=np.int64) <= MOST_ELEMENTS // 4:
                return shape
        return tuple(max(1, least) for _ in range(rank))

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        if rank == 0:
            raise NoFit
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Different axes, each counted from either end."""
        if rank < least:
            raise NoFit
        chosen = self.rng.sample(range(rank), self.integer(least, rank))
        return [a - rank if self.chance(0.3) else a for a in chosen]

    # --- Values.

    def elements(
        self, dtype: str, shape: Shape, low: float = -4, high: float = 4, whole: bool | None = None
    ) -> np.ndarray:
        """Random elements in [low, high]. Floats are whole numbers half of the time, so that results can be exact."""
        numpy = np.random.default_rng(self.rng.getrandbits(64))
        if dtype == "bool":
            return np.asarray(numpy.random(shape) < 0.5)
        if dtype.startswith("float"):
            whole = (self.exact_only or self.chance(0.5)) if whole is None else whole
            if whole:
                return np.asarray(numpy.integers(int(np.ceil(low)), int(np.floor(high)), shape, endpoint=True), dtype)
            return np.asarray(numpy.uniform(low, high, shape), dtype)
        if dtype.startswith("uint"):
            low = max(low, 0)
        return np.asarray(numpy.integers(int(low), int(high), shape, endpoint=True), dtype)

    def input(self, array: np.ndarray) -> Value:
        name = f"x{len(self.graph.inputs) + len(self.new_inputs)}"
        self.new_inputs.append(Value(name, array, exact=is_exact(array)))
        return self.new_inputs[-1]

    def constant(self, array: np.ndarray | Sequence, dtype: str = "int64") -> Value:
        array = array if isinstance(array, np.ndarray) else np.array(array, dtype)
        name = f"c{len(self.graph.constants) + len(self.new_constants)}"
        self.new_constants.append(Value(name, array, exact=is_exact(array), constant=True))
        return self.new_constants[-1]

    def new(self, dtype: str, shape: Shape, low: float = -4, high: float = 4, whole: bool | None = None) -> Value:
        """A new input, or a new constant."""
        array = self.elements(dtype, shape, low, high, whole)
        return self.constant(array) if self.chance(0.3) else self.input(array)

    def weight(self, dtype: str, shape: Shape, low: float = -2, high: float = 2) -> Value:
        """A constant most of the time."""
        array = self.elements(dtype, shape, low, high)
        return self.input(array) if self.chance(0.2) else self.constant(array)

    def earlier(self, fits: Callable[[Value], bool]) -> Value | None:
        """A value that is there already; results of nodes are preferred to inputs."""
        found = [v for v in self.graph.results if fits(v)] * 3 + [v for v in self.graph.inputs if fits(v)]
        found = [v for v in found if v.exact or not self.exact_only]
        return self.choose(found) if found else None

    def value(
        self,
        dtypes: Sequence[str] = FLOATS,
        rank: tuple[int, int] = (0, 4),
        low: float = -4,
        high: float = 4,
        least: int = 0,
        fits: Callable[[Value], bool] = lambda v: True,
        shape: Callable[[], Shape] | None = None,
    ) -> Value:
        """An earlier value of one of the dtypes whose elements are in the interval, or a new one."""

        def fit(v: Value) -> bool:
            return (
                v.dtype in dtypes and rank[0] <= v.rank <= rank[1] and min(v.shape, default=1) >= least
                and within(v.array, low, high) and fits(v)
            )  # fmt: skip

        if self.chance(0.85) and (found := self.earlier(fit)):
            return found
        for _ in range(10):
            new_shape = shape() if shape else self.shape(*rank, least=least)
            array = self.elements(self.choose(dtypes), new_shape, max(low, -4), min(high, 4))
            if fits(Value("", array, True)):
                return self.input(array)
        raise NoFit

    def like(self, other: Value, shape: Shape | None = None, low: float = -4, high: float = 4) -> Value:
        """A value of the dtype and the shape of another one, or of the shape given."""
        shape = other.shape if shape is None else shape

        def fit(v: Value) -> bool:
            return v.dtype == other.dtype and v.shape == shape and within(v.array, low, high)

        found = self.earlier(fit) if self.chance(0.6) else None
        return found or self.new(other.dtype, shape, low, high)

    def broadcastable(self, other: Value, low: float = -4, high: float = 4, also: Sequence[Value] = ()) -> Value:
        """A value whose shape broadcasts with that of another one, in either direction, and with those of more."""

        def joins(v: Value) -> bool:
            if v.dtype != other.dtype or not within(v.array, low, high):
                return False
            try:
                shape = np.broadcast_shapes(v.shape, other.shape, *(a.shape for a in also))
            except ValueError:
                return False
            return np.prod(shape, dtype=np.int64) <= MOST_ELEMENTS

        if self.chance(0.6) and (found := self.earlier(joins)):
            return found
        shape = [1 if self.chance(0.25) else e for e in other.shape][
            self.integer(0, other.rank) if self.chance(0.4) else 0 :
        ]
        if self.chance(0.1) and len(shape) == other.rank:
            shape.insert(0, self.choose((1, 2, 3)))
        return self.new(other.dtype, tuple(shape), low, high)

    # --- The node.

    def add(self, name: str, inputs: Sequence[Value | None], outputs: int = 1, **attributes: object) -> None:
        """Makes the node. An input that is None is absent; so is an attribute that is None."""
        inputs = list(inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        count = len(self.graph.nodes)
        self.node = helper.make_node(
            name,
            [v.name if v else "" for v in inputs],
            [f"r{count}" if i == 0 else f"r{count}_{i}" for i in range(outputs)],
            name=f"n{count}",
            **{k: v for k, v in attributes.items() if v is not None},
        )
        self.read = [v for v in inputs if v]


def within(array: np.ndarray, low: float, high: float) -> bool:
    """True if all elements are in the interval. The usual interval says no more than that they are small."""
    if array.dtype == bool or array.size == 0:
        return True
    low, high = (-1e4, 1e4) if (low, high) == (-4, 4) else (low, high)
    return bool(array.min() >= low and array.max() <= high)


def is_exact(array: np.ndarray) -> bool:
    """True if arithmetic on the elements is free of rounding: floats are whole numbers that are not large."""
    if array.dtype.kind != "f":
        return True
    return bool(np.all(array == np.rint(array)) and np.all(np.abs(array.astype(np.float64)) < 2**20))
