"""Composes a random graph, node by node: each is run on the peer at once, so that later ones see its values."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from . import peer
from .draw import MOST_ELEMENTS, Draw, Graph, NoFit, Value, is_exact
from .operators import OPERATORS
from .operators.elementwise import CASTS

OPSETS = (21,) * 8 + (20, 19, 18, 18, 17, 15, 13, 13, 12, 11, 10, 9, 9, 8)
MOST_NODES = 14
TRIES = 12  # of an operator, before the graph goes on without it
LARGEST = 1e6  # of a float


@dataclass
class Step:
    """A node with what it read and gave; no results if the peer refused it."""

    node: NodeProto
    reads: list[Value]
    results: list[Value]
    refusal: str = ""


@dataclass
class Composed:
    """A graph, and what the peer says to it."""

    seed: int
    graph: Graph
    steps: list[Step]
    outputs: list[Value]
    names: dict[tuple[str, int], str]  # (input, axis) -> the name of a symbolic axis
    refusal: str = ""

    @property
    def operators(self) -> list[str]:
        return [s.node.op_type for s in self.steps]

    def model(self, symbolic: bool = True) -> ModelProto:
        names = self.names if symbolic else {}
        return model_of(
            self.graph.opset, self.graph.nodes, self.graph.inputs, self.graph.constants, self.outputs, names
        )


def model_of(
    opset: int,
    nodes: Sequence[NodeProto],
    inputs: Sequence[Value],
    constants: Sequence[Value],
    outputs: Sequence[Value],
    names: dict[tuple[str, int], str],
) -> ModelProto:
    """A model of these parts."""
    inputs_info = [
        helper.make_tensor_value_info(
            v.name, CASTS[v.dtype], [names.get((v.name, i), e) for i, e in enumerate(v.shape)]
        )
        for v in inputs
    ]
    outputs_info = [
        helper.make_tensor_value_info(v.name, CASTS[v.dtype], None) if v.dtype in CASTS else ValueInfoProto(name=v.name)
        for v in outputs
    ]
    initializers = [numpy_helper.from_array(v.array, v.name) for v in constants]
    graph = helper.make_graph(list(nodes), "graph", inputs_info, outputs_info, initializer=initializers)
    version = 10 if opset >= 21 else 8
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=version)


def unknown_results(node: NodeProto) -> list[Value]:
    """Results of a node that has not run; their dtype is left to the peer."""
    return [Value(name, np.zeros(0, np.complex64), False) for name in node.output]


def part_of(opset: int, steps: Sequence[Step]) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Some nodes of a graph as a model, and its inputs: what other nodes gave them is an input."""
    made = {v.name for s in steps for v in s.results}
    read = {v.name: v for s in steps for v in s.reads}
    outside = [v for v in read.values() if v.name not in made]
    outputs = [v for s in steps for v in s.results or unknown_results(s.node) if v.name not in read]
    inputs = [v for v in outside if not v.constant]
    model = model_of(opset, [s.node for s in steps], inputs, [v for v in outside if v.constant], outputs, {})
    return model, {v.name: v.array for v in inputs}


def usable(array: np.ndarray) -> bool:
    """True if the graph may go on with the value."""
    if str(array.dtype) not in CASTS or array.size > MOST_ELEMENTS:
        return False
    if array.dtype.kind != "f":
        return True
    return bool(np.isfinite(array).all() and (np.abs(array.astype(np.float64)) <= LARGEST).all())


def add_operator(graph: Graph, name: str, rng: random.Random, tries: Callable[[str], None]) -> Step | None:
    """Adds one node of this operator; None if none fits here. `tries` is told what the peer is about to run."""
    row = OPERATORS[name]
    for _ in range(TRIES):
        d = Draw(graph, rng, exact_only=row.steps)
        try:
            row.draw(d, name)
        except NoFit:
            continue
        if row.steps and not all(v.exact for v in d.read):
            continue
        step = Step(d.node, d.read, [])
        tries(name)
        try:
            arrays = peer.run(*part_of(graph.opset, [step]))
        except peer.NotImplementedByPeer:
            continue
        except peer.Refused as refused:
            step.refusal = str(refused)
            arrays = []
        if not all(usable(a) for a in arrays):
            continue
        exact = all(v.exact for v in d.read)
        for result, array in zip(d.node.output, arrays):
            whole = is_exact(array) and (row.exact or array.dtype.kind != "f")
            step.results.append(Value(result, array, exact and whole))
        graph.inputs += [v for v in d.new_inputs if v in d.read]
        graph.constants += [v for v in d.new_constants if v in d.read]
        graph.nodes.append(d.node)
        graph.results += step.results
        return step
    return None


def name_axes(graph: Graph, rng: random.Random) -> dict[tuple[str, int], str]:
    """Axes of inputs that the model leaves open. An extent of 1 stays: it may broadcast, and a name may not."""
    names = {}
    for v in graph.inputs:
        for i, extent in enumerate(v.shape):
            if extent != 1 and rng.random() < 0.5:
                names[v.name, i] = f"d{extent}" if rng.random() < 0.8 else f"{v.name}_{i}"
    return names


def compose(seed: int, only: Sequence[str] = (), tries: Callable[[str], None] = lambda name: None) -> Composed:
    """Makes the graph of this number. `only` chooses among the operators."""
    rng = random.Random(seed)
    names = [n for n in OPERATORS if not only or n in only]
    first = names[seed % len(names)]  # so that each operator has its turn
    row = OPERATORS[first]
    opsets = [o for o in OPSETS if row.since <= o <= row.until] or [row.until]
    graph = Graph(rng.choice(opsets))
    possible = [n for n in names if OPERATORS[n].since <= graph.opset <= OPERATORS[n].until]
    count = rng.choice((1, 1, 1, 2, 3, 4, 5, 7, 9, MOST_NODES))
    at = rng.randrange(count)  # where the first operator stands
    composed = Composed(seed, graph, [], [], {})
    for i in range(count):
        step = add_operator(graph, first if i == at else rng.choice(possible), rng, tries)
        if not step:
            continue
        composed.steps.append(step)
        if step.refusal:
            composed.refusal = step.refusal
            break
    read = {v.name for s in composed.steps for v in s.reads}
    unread = [v for v in graph.results if v.name not in read]
    composed.outputs = [v for v in graph.results if v in unread or rng.random() < 0.1]
    if composed.refusal:
        composed.outputs = unknown_results(composed.steps[-1].node)
    if rng.random() < 0.3:
        composed.names = name_axes(graph, rng)
    return composed
