"""Every program by name: its weights, its arguments, and the same in PyTorch."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from relay_values import Data

HERE = Path(__file__).resolve().parent
Arrays = dict[str, np.ndarray]
FEATURES, STATE = 300, 512  # of the cells
LETTERS = 128
TREE_STATE = 150
LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, LONGEST = 4, 256, 4, 1024, 1000, 2048  # of the transformer


@dataclass(frozen=True)
class Program:
    """`weights` and `arguments` are made from a seed; `torch` takes both and gives a function to be timed."""

    name: str
    weights: Callable[[np.random.Generator], Arrays]
    arguments: Callable[[np.random.Generator], list[Any]]
    torch: str  # the function of peer.py

    def random(self) -> np.random.Generator:
        """Where its weights come from first, and then its arguments: the same on every machine."""
        return np.random.default_rng(int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "little"))

    @property
    def text(self) -> str:
        """The program."""
        return (HERE / f"{self.name}.relay").read_text(encoding="utf-8")


def uniform(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """As libraries begin: within 1/sqrt(columns)."""
    return (rng.uniform(-1, 1, shape) / np.sqrt(shape[-1])).astype(np.float32)


def cell_weights(gates: int, biases: tuple[str, ...]) -> Callable[[np.random.Generator], Arrays]:
    """Of a recurrent cell."""

    def make(rng: np.random.Generator) -> Arrays:
        out = {
            "weight_ih": uniform(rng, gates * STATE, FEATURES),
            "weight_hh": uniform(rng, gates * STATE, STATE),
        }
        out.update({name: 0.1 * uniform(rng, gates * STATE) for name in biases})
        return out

    return make


def sequence(steps: int) -> Callable[[np.random.Generator], list[Any]]:
    """A list of so many vectors."""
    return lambda rng: [list_of([rng.standard_normal((1, FEATURES)).astype(np.float32) for _ in range(steps)])]


def list_of(items: list[Any]) -> Data:
    """As the language has lists."""
    out = Data("Nil")
    for item in reversed(items):
        out = Data("Cons", (item, out))
    return out


def items_of(data: Data) -> list[Any]:
    """Back again."""
    out = []
    while data.constructor == "Cons":
        item, data = data.fields
        out.append(item)
    return out


def letter_weights(rng: np.random.Generator) -> Arrays:
    """Large enough that it does not repeat itself at once."""
    return {
        "embedding": rng.standard_normal((LETTERS, 128)).astype(np.float32),
        "weight_ih": 3 * uniform(rng, 128, 128),
        "weight_hh": 3 * uniform(rng, 128, 128),
        "bias": 0.1 * uniform(rng, 128),
        "weight_out": uniform(rng, LETTERS, 128),
        "bias_out": np.where(np.arange(LETTERS) == 0, -10, 0.1 * uniform(rng, LETTERS)).astype(np.float32),
    }


def letter_arguments(rng: np.random.Generator) -> list[Any]:
    """Twenty letters after the first."""
    del rng
    return [np.array(20, np.int32), np.array([7], np.int64)]


def tree_weights(rng: np.random.Generator) -> Arrays:
    """Of one node."""
    return {
        "weight_in": uniform(rng, 4 * TREE_STATE, FEATURES),
        "bias": 0.1 * uniform(rng, 4 * TREE_STATE),
        "weight_children": uniform(rng, 3 * TREE_STATE, TREE_STATE),
        "weight_forget": uniform(rng, TREE_STATE, TREE_STATE),
    }


def binary_tree(depth: int) -> Callable[[np.random.Generator], list[Any]]:
    """A full binary tree; 31 nodes at depth 5."""

    def node(rng: np.random.Generator, left: int) -> Data:
        x = rng.standard_normal((1, FEATURES)).astype(np.float32)
        children = [node(rng, left - 1) for _ in range(2)] if left > 1 else []
        return Data("Node", (x, list_of(children)))

    return lambda rng: [node(rng, depth)]


def transformer_weights(rng: np.random.Generator) -> Arrays:
    """Large enough that the scores differ."""

    def wide(*shape: int) -> np.ndarray:
        return np.float32(np.sqrt(3)) * uniform(rng, *shape)

    def norm(prefix: str, suffix: str = "") -> Arrays:
        return {f"{prefix}g{suffix}": 1 + wide(WIDTH) / 10, f"{prefix}b{suffix}": wide(WIDTH) / 10}

    out = {
        "embed": rng.standard_normal((VOCABULARY, WIDTH)).astype(np.float32),
        "place": rng.standard_normal((LONGEST, WIDTH)).astype(np.float32) / 10,
        **norm("n"),
    }
    for layer in map(str, range(LAYERS)):
        out.update(norm("n1", layer), **norm("n2", layer))
        shapes = {"qkv": (3 * WIDTH, WIDTH), "out": (WIDTH, WIDTH), "up": (HIDDEN, WIDTH), "down": (WIDTH, HIDDEN)}
        for name, shape in shapes.items():
            out[name + layer] = wide(*shape)
            out[f"{name}b{layer}"] = wide(shape[0])
    return out


def prompt(tokens: int, left: int) -> Callable[[np.random.Generator], list[Any]]:
    """So many tokens, to be followed by `left` + 1."""
    return lambda rng: [np.array(left, np.int32), rng.integers(0, VOCABULARY, (1, tokens))]


PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        Program("rnn", cell_weights(1, ("bias",)), sequence(32), "rnn"),
        Program("gru", cell_weights(3, ("bias_ih", "bias_hh")), sequence(32), "gru"),
        Program("lstm", cell_weights(4, ("bias",)), sequence(32), "lstm"),
        Program("letters", letter_weights, letter_arguments, "letters"),
        Program("tree_lstm", tree_weights, binary_tree(5), "tree_lstm"),
        Program("transformer", transformer_weights, prompt(64, 63), "transformer"),
    )
}
