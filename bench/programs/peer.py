"""The programs in PyTorch, as one would write them: cells of torch.nn, Python's own loops and recursion."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from .catalogue import FEATURES, HEADS, LAYERS, STATE, TREE_STATE, WIDTH, Arrays, items_of

Run = Callable[[], Any]


def make(name: str, weights: Arrays, arguments: list[Any]) -> Run:
    """Something to call that gives what the program gives, as tensors in tuples and lists."""
    tensors = {key: torch.from_numpy(value.copy()) for key, value in weights.items()}
    function: Callable[[dict[str, torch.Tensor], list[Any]], Run] = PEERS[name]
    run = function(tensors, arguments)

    def inference() -> Any:
        with torch.inference_mode():
            return run()

    return inference


def cell_of(cell: Any, w: dict[str, torch.Tensor], bias_ih: torch.Tensor, bias_hh: torch.Tensor) -> Any:
    """The cell with these weights."""
    with torch.no_grad():
        cell.weight_ih.copy_(w["weight_ih"])
        cell.weight_hh.copy_(w["weight_hh"])
        cell.bias_ih.copy_(bias_ih)
        cell.bias_hh.copy_(bias_hh)
    return cell.eval()


def steps_of(arguments: list[Any]) -> list[torch.Tensor]:
    """The list of vectors."""
    return [torch.from_numpy(x) for x in items_of(arguments[0])]


def recurrence(cell: Any, arguments: list[Any], zeros: Callable[[], Any] = lambda: torch.zeros(1, STATE)) -> Run:
    """The cell in a loop over the list, from a state of zeros."""
    steps = steps_of(arguments)

    def run() -> Any:
        state = zeros()
        for x in steps:
            state = cell(x, state)
        return state

    return run


def rnn(w: dict[str, torch.Tensor], arguments: list[Any]) -> Run:
    """torch.nn.RNNCell in a loop."""
    cell = cell_of(torch.nn.RNNCell(FEATURES, STATE), w, w["bias"], torch.zeros_like(w["bias"]))
    return recurrence(cell, arguments)


def gru(w: dict[str, torch.Tensor], arguments: list[Any]) -> Run:
    """torch.nn.GRUCell in a loop."""
    return recurrence(cell_of(torch.nn.GRUCell(FEATURES, STATE), w, w["bias_ih"], w["bias_hh"]), arguments)


def lstm(w: dict[str, torch.Tensor], arguments: list[Any]) -> Run:
    """torch.nn.LSTMCell in a loop."""
    cell = cell_of(torch.nn.LSTMCell(FEATURES, STATE), w, w["bias"], torch.zeros_like(w["bias"]))
    return recurrence(cell, arguments, lambda: (torch.zeros(1, STATE), torch.zeros(1, STATE)))


def letters(w: dict[str, torch.Tensor], arguments: list[Any]) -> Run:
    """The generator."""
    limit, first = int(arguments[0]), torch.from_numpy(np.asarray(arguments[1]))

    def run() -> list[torch.Tensor]:
        out: list[torch.Tensor] = []
        h, letter = torch.zeros(1, w["weight_hh"].shape[0]), first
        for _ in range(limit):
            x = functional.embedding(letter, w["embedding"])
            h = torch.tanh(functional.linear(x, w["weight_ih"], w["bias"]) + functional.linear(h, w["weight_hh"]))
            letter = functional.linear(h, w["weight_out"], w["bias_out"]).argmax(1)
            if letter.item() == 0:
                break
            out.append(letter)
        return out

    return run


def tree_lstm(w: dict[str, torch.Tensor], arguments: list[Any]) -> Run:
    """Recursion over the tree, the children of a node together."""

    def convert(tree: Any) -> tuple[torch.Tensor, list[Any]]:
        x, children = tree.fields
        return torch.from_numpy(x), [convert(child) for child in items_of(children)]

    def node(tree: tuple[torch.Tensor, list[Any]]) -> tuple[torch.Tensor, torch.Tensor]:
        x, children = tree
        a = functional.linear(x, w["weight_in"], w["bias"])
        if children:
            states = [node(child) for child in children]
            h, c = torch.cat([s for s, _ in states]), torch.cat([s for _, s in states])
            kept = torch.sigmoid(a[:, 3 * TREE_STATE :] + functional.linear(h, w["weight_forget"]))
            h, c = h.sum(0, keepdim=True), (kept * c).sum(0, keepdim=True)
        else:
            h = c = torch.zeros(1, TREE_STATE)
        gates = a[:, : 3 * TREE_STATE] + functional.linear(h, w["weight_children"])
        into, out, update = gates.chunk(3, 1)
        c = torch.sigmoid(into) * torch.tanh(update) + c
        return torch.sigmoid(out) * torch.tanh(c), c

    tree = convert(arguments[0])
    return lambda: node(tree)


Past = list[torch.Tensor]
Step = Callable[[torch.Tensor, Past], tuple[torch.Tensor, Past]]


def transformer_step(w: dict[str, torch.Tensor]) -> Step:
    """The scores after some tokens, given keys and values of those before; and what is to be kept of all of them."""

    def norm(x: torch.Tensor, prefix: str, suffix: str = "") -> torch.Tensor:
        return functional.layer_norm(x, (WIDTH,), w[f"{prefix}g{suffix}"], w[f"{prefix}b{suffix}"], 1e-5)

    def heads(x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

    def step(tokens: torch.Tensor, past: Past) -> tuple[torch.Tensor, Past]:
        count, before = tokens.shape[1], past[0].shape[2] if past else 0
        at = torch.arange(before, before + count)
        mask = torch.arange(before + count)[None] <= at[:, None]
        x, kept = w["embed"][tokens] + w["place"][at], []
        for layer in range(LAYERS):
            n = str(layer)
            q, k, v = functional.linear(norm(x, "n1", n), w["qkv" + n], w["qkvb" + n]).split(WIDTH, 2)
            q, k, v = heads(q), heads(k), heads(v)
            if past:
                k, v = torch.cat([past[2 * layer], k], 2), torch.cat([past[2 * layer + 1], v], 2)
            kept += [k, v]
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(x.shape)
            x = x + functional.linear(mixed, w["out" + n], w["outb" + n])
            up = functional.linear(norm(x, "n2", n), w["up" + n], w["upb" + n])
            x = x + functional.linear(up * torch.sigmoid(1.702 * up), w["down" + n], w["downb" + n])
        return functional.linear(norm(x, "n")[:, -1], w["embed"]), kept

    return step


def transformer(w: dict[str, torch.Tensor], arguments: list[Any]) -> Run:
    """Prefill and greedy decoding with a cache of keys and values."""
    left, prompt = int(arguments[0]), torch.from_numpy(arguments[1])
    step = transformer_step(w)

    def run() -> list[torch.Tensor]:
        scores, past = step(prompt, [])
        out = [scores.argmax(1, keepdim=True)]
        for _ in range(left):
            scores, past = step(out[-1], past)
            out.append(scores.argmax(1, keepdim=True))
        return out

    return run


PEERS = {"rnn": rnn, "gru": gru, "lstm": lstm, "letters": letters, "tree_lstm": tree_lstm, "transformer": transformer}
