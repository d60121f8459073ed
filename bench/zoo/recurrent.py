"""Recurrent layers as ONNX has them: LSTM, GRU and plain RNN, one layer, one direction, 32 steps of batch 1."""

import math
from collections.abc import Callable
from typing import Any

from .graph import Graph

STEPS = 32
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op: str, features: int) -> Callable[[Graph], None]:
    """The network with one layer of that kind and width."""

    def build(g: Graph) -> None:
        x = g.input("input", (STEPS, 1, features))
        bound = 1 / math.sqrt(features)
        rows = GATES[op] * features
        operands = [
            x,
            g.weight("input_weight", (1, rows, features), -bound, bound),
            g.weight("hidden_weight", (1, rows, features), -bound, bound),
            g.weight("bias", (1, 2 * rows), -bound, bound),
        ]
        attributes: dict[str, Any] = {"hidden_size": features}
        if op == "GRU":
            attributes["linear_before_reset"] = 1  # the reset gate acts after the product, as in common libraries
        states = g.node(op, operands, (STEPS, 1, 1, features), **attributes)
        g.output("output", g.node("Squeeze", [states, g.indices(1)], (STEPS, 1, features)))

    return build
