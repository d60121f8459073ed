"""A character generator: an ONNX Loop whose every step feeds the likeliest character to the next."""

import numpy as np
import onnx

from .graph import Graph, Sample, Value

CHARACTERS = 128
FEATURES = 256
STEPS = 64  # of the sample; the trip count is an input


def charrnn_loop(g: Graph) -> None:
    """Inputs: trip count, first character, first state. Outputs: the characters, the last state."""
    trips = g.input("n", (), "int64", sample=Sample((), lambda key: np.array(STEPS, np.int64)))
    token = g.input("tok0", (1,), "int64", sample=Sample((1,), lambda key: np.array([1], np.int64)))
    state = g.input("h0", (1, FEATURES))
    going = g.constant("going", np.array(True))
    results = [
        Value(g.fresh("last_token"), (1,), "int64"),
        Value(g.fresh("last_state"), (1, FEATURES)),
        Value(g.fresh("tokens"), ("n", 1), "int64"),
    ]
    g.add_node("Loop", [trips, going, token, state], results, body=body(g))
    g.output("seq", results[2])
    g.output("hN", results[1])


def body(g: Graph) -> onnx.GraphProto:
    """One step; the weights are the outer graph's."""
    weights = step_weights(g)
    step = Graph("step")
    with step.scope("step"):
        names = [step.fresh(name) for name in ("index", "going", "token", "state")]
        step.inputs = [
            Value(names[0], (), "int64"),
            Value(names[1], (), "bool"),
            Value(names[2], (1,), "int64"),
            Value(names[3], (1, FEATURES)),
        ]
        _, going, token, state = step.inputs
        next_state = advance(step, weights, token, state)
        token = likeliest(step, weights, next_state)
        emitted = step.node("Identity", [token], (1,), dtype="int64")
        going = step.node("Identity", [going], (), dtype="bool")
        for value in (going, token, next_state, emitted):
            step.output(value.name, value)
    graph = onnx.GraphProto()
    step.fill(graph)
    return graph


def step_weights(g: Graph) -> dict[str, Value]:
    """Input, hidden and output weights with their biases."""
    square, wide = (FEATURES, FEATURES), (FEATURES, CHARACTERS)
    return {
        "embedding": g.scaled_weight("embedding", (CHARACTERS, FEATURES), 1.0),
        "input": g.scaled_weight("input_weight", square, 1 / FEATURES),
        "hidden": g.scaled_weight("hidden_weight", square, 1 / FEATURES),
        "bias": g.weight("bias", (FEATURES,), -0.1, 0.1),
        "output": g.scaled_weight("output_weight", wide, 1 / FEATURES),
        "output_bias": g.weight("output_bias", (CHARACTERS,), -0.1, 0.1),
    }


def advance(g: Graph, weights: dict[str, Value], token: Value, state: Value) -> Value:
    """tanh(embedding[token] W + state U + b)."""
    read = g.node("Gather", [weights["embedding"], token], state.shape, axis=0)
    read = g.node("MatMul", [read, weights["input"]], state.shape)
    kept = g.node("MatMul", [state, weights["hidden"]], state.shape)
    total = g.node("Add", [g.node("Add", [read, kept], state.shape), weights["bias"]], state.shape)
    return g.node("Tanh", [total], state.shape)


def likeliest(g: Graph, weights: dict[str, Value], state: Value) -> Value:
    """The character with the largest logit."""
    logits = g.node("MatMul", [state, weights["output"]], (1, CHARACTERS))
    logits = g.node("Add", [logits, weights["output_bias"]], (1, CHARACTERS))
    return g.node("ArgMax", [logits], (1,), dtype="int64", axis=1, keepdims=0)
