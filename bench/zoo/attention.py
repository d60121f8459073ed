"""Multi-head attention, shared by BERT and GPT-2, for known and for dynamic batch and sequence lengths."""

import math

from . import layers as nn
from .graph import Graph, Value, static


def shape_of(g: Graph, x: Value, *last: int) -> Value:
    """The shape (batch, sequence, *last) as an int64 vector: a constant where it is known, else read off `x`."""
    leading = x.shape[:2]
    if any(isinstance(dim, str) for dim in leading):
        return nn.shape_vector(g, nn.dim_of(g, x, 0), nn.dim_of(g, x, 1), *last)
    return g.indices(*map(static, leading), *last)


def split_heads(g: Graph, x: Value, heads: int) -> Value:
    """(batch, sequence, features) to (batch, heads, sequence, features / heads)."""
    size = x.features // heads
    shape = (*x.shape[:2], heads, size)
    return nn.transpose(g, nn.reshape(g, x, shape, shape_of(g, x, heads, size)), 0, 2, 1, 3)


def join_heads(g: Graph, x: Value) -> Value:
    """The way back."""
    y = nn.transpose(g, x, 0, 2, 1, 3)
    features = static(y.shape[2]) * static(y.shape[3])
    return nn.reshape(g, y, (*y.shape[:2], features), shape_of(g, y, features))


def attend(g: Graph, q: Value, k: Value, v: Value, mask: Value | None) -> Value:
    """softmax(q k^T / sqrt(size) + mask) v, all split into heads."""
    scores = nn.matmul(g, q, nn.transpose(g, k, 0, 1, 3, 2))
    scores = g.node("Div", [scores, g.scalar(math.sqrt(q.features))], scores.shape)
    if mask:
        scores = g.node("Add", [scores, mask], scores.shape)
    return nn.matmul(g, nn.softmax(g, scores), v)


def embedding(g: Graph, name: str, count: int, features: int) -> Value:
    """A table of `count` rows of variance 1."""
    return g.scaled_weight(name, (count, features), 1.0)
